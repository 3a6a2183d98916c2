//! What is left to do for a run that has ended: its unread events are buried (D1), and in the end it goes itself (L9).

use bytes::Bytes;
use drystone_runtime::{Message, Millis, Name, Range, Row, To};

use super::{
    super::{EventCode, Workflow, event::Unread, journal::End},
    Caller,
    memory::Memory,
    queueing::{Queued, lane, number_in},
    turning::{Halt, Turned, Turning},
};
use crate::{
    Timestamp, dead_letters, decode,
    planted::Bug,
    topics::wire::{PUBLISH, Publish, TopicName},
};

/// Unread events that are buried in one turn, and their bytes (K3).
const BURIED_PER_TURN: u32 = 200;
const BURIED_BYTES: usize = 2 << 20;

/// What a run may wait for that is destroyed in one commit.
const TOLD_AT_ONCE: usize = 200;

/// What those are held under who destroy a run that has more to tell.
const GONE: &str = "gone";

impl<W: Workflow> Turning<'_, W> {
    pub(super) fn has_unread(&self) -> bool {
        self.record.queues.values().any(|queue| queue.count > 0)
    }

    /// Whether a run that is destroyed must tell more than one commit can: of events that nobody took, to topics and children that it
    /// waits for, or what it owes.
    pub(super) fn has_much_to_tell(&self) -> bool {
        self.has_unread()
            || !self.record.owes.is_nothing()
            || self.record.pending.len() > TOLD_AT_ONCE
            || self.record.goes
    }

    /// Ends a run that is destroyed, as if it were terminated. It goes when all is told, and whoever destroys it hears of it then.
    pub(super) fn destroy_when_told(mut self, memory: &mut Memory, caller: Caller) -> Turned {
        if self.record.end.is_none() {
            self.end(End::Terminated)?;
        }
        self.record.goes = true;
        self.commit.hold = caller.map(|_| Name::new(GONE));
        self.close(memory, None)
    }

    /// What is left to do for a run that has ended: unread events are buried (D1), and in the end it goes itself (L9).
    pub(super) fn after_the_end(&mut self) -> Result<(), Halt> {
        self.tell_parent_late()?;
        if !self.record.owes.is_nothing() {
            // That comes first, and is sent with this commit.
            return Ok(());
        }
        if self.has_unread() {
            return self.bury();
        }
        let kept_until = self.record.end.as_ref().map(|end| Millis(end.at).after(W::options().keeps_for()));
        self.commit.destroy = self.record.goes || kept_until.is_some_and(|until| until <= self.seen.now);
        if self.record.goes {
            self.commit.replies.push((To::All(Name::new(GONE)), Ok(Bytes::from_static(b"true"))));
        }
        Ok(())
    }

    fn bury(&mut self) -> Result<(), Halt> {
        let Some(event) = self.record.queues.iter().find(|(_, queue)| queue.count > 0).map(|(event, _)| event.clone())
        else {
            return Ok(());
        };
        let rows = self.rows(&Range::first(lane(self.record.drops, &event), BURIED_PER_TURN))?;
        let code = Self::accepted(&event).ok();
        if code.is_some_and(|code| code.options.unread == Unread::Discard) {
            let numbers: Vec<u64> = rows.iter().map(|row| number_in(&row.key)).collect();
            self.discard(&event, &numbers);
            return Ok(());
        }
        let mut numbers = Vec::new();
        for row in rows {
            if self.commit.send.iter().map(|message| message.body.len()).sum::<usize>() >= BURIED_BYTES {
                break;
            }
            let message = self.burial(&event, code, row);
            self.commit.send.extend(message);
            numbers.push(number_in(&row.key));
        }
        if numbers.is_empty() {
            self.record.queues.remove(&event);
        }
        self.taken(&event, &numbers);
        Ok(())
    }

    /// They are gone, and counted for as long as the run is there.
    fn discard(&mut self, event: &str, numbers: &[u64]) {
        let queue = self.record.queues.entry(event.to_owned()).or_default();
        if !Bug::DiscardedUncounted.planted() {
            queue.discarded += numbers.len() as u64;
        }
        if numbers.is_empty() {
            queue.count = 0;
        }
        self.taken(event, numbers);
        self.tell_listeners("workflow.discarded", &[("event", event.into()), ("count", numbers.len().into())]);
    }

    /// What becomes of an event that nobody took: a dead letter, unless its type says otherwise.
    fn burial(&self, event: &str, code: Option<&EventCode>, row: &Row) -> Option<Message> {
        let queued: Queued = decode(&row.body).ok()?;
        let topic = code.and_then(|code| code.options.topic_options());
        let key = queued.key.clone().filter(|_| !Bug::PublishedAstray.planted());
        let topic = topic.map(|options| (TopicName::new(event, key), options));
        match (code.map(|code| code.options.unread), topic) {
            _ if Bug::UnreadForgotten.planted() => None,
            // One whose key is longer than that of a topic may be has none to be published on.
            (Some(Unread::Publish), Some((topic, options))) if topic.address().is_ok() => {
                topic.clone().message(PUBLISH, &[Publish { topic, options, event: queued.event }])
            }
            (_, topic) => {
                let (status, at) = (self.record.phase().word(), Timestamp::from_millis(queued.at));
                let reason = format!("the run is {status}, and nobody took the event `{event}` of {at}");
                dead_letters::event_of_run(self.seen.definition, event, topic, &queued.event, reason)
            }
        }
    }
}
