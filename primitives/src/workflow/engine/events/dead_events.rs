//! The work that is left for a run that has ended: its unread events are handled (D1), and at last the run
//! itself is removed (L9).

use bytes::Bytes;
use drystone_runtime::{Message, Millis, Name, Range, Row, To};

use super::queue::{Queued, lane, number_in};
use crate::{
    Timestamp, decode,
    event::Unread,
    planted::Bug,
    system::{
        dead_letters,
        topics::wire::{PUBLISH, Publish, TopicName},
    },
    workflow::{
        EventCode, Workflow,
        engine::{
            Caller,
            memory::Memory,
            turn::{Halt, Turned, Turning},
        },
        replay::journal::End,
    },
};

/// The unread events that one turn handles at most, and their bytes (K3).
const BURIED_PER_TURN: u32 = 200;
const BURIED_BYTES: usize = 2 << 20;

/// The number of pending operations up to which one commit can destroy a run.
const TOLD_AT_ONCE: usize = 200;

/// The name under which callers are held that destroy a run with more messages than one commit can send.
const GONE: &str = "gone";

impl<W: Workflow> Turning<'_, W> {
    pub(in crate::workflow::engine) fn has_unread(&self) -> bool {
        self.record.queues.values().any(|queue| queue.count > 0)
    }

    /// Whether the end of a run that is destroyed takes more than one commit: it has unread events, owed
    /// messages, or too many topics and children to notify.
    pub(in crate::workflow::engine) fn has_much_to_tell(&self) -> bool {
        self.has_unread()
            || !self.record.owes.is_nothing()
            || self.record.pending.len() > TOLD_AT_ONCE
            || self.record.goes
    }

    /// Ends a run that is destroyed, as if it were terminated. When all its messages are sent, the run is
    /// removed and its caller is answered.
    pub(in crate::workflow::engine) fn destroy_when_told(mut self, memory: &mut Memory, caller: Caller) -> Turned {
        if self.record.end.is_none() {
            self.end(End::Terminated)?;
        }
        self.record.goes = true;
        self.commit.hold(caller.map(|_| Name::new(GONE)));
        self.close(memory, None)
    }

    /// Does the work that is left for a run that has ended: unread events are handled (D1), and at last the
    /// run is removed (L9).
    pub(in crate::workflow::engine) fn after_the_end(&mut self) -> Result<(), Halt> {
        self.tell_parent_late()?;
        if !self.record.owes.is_nothing() {
            // Owed messages come first, and are sent with this commit.
            return Ok(());
        }
        if self.has_unread() {
            return self.bury();
        }
        let kept_until = self.record.end.as_ref().map(|end| Millis(end.at).after(W::options().keeps_for()));
        if self.record.goes || kept_until.is_some_and(|until| until <= self.seen.now) {
            self.commit.destroy();
        }
        if self.record.goes {
            self.commit.reply(To::All(Name::new(GONE)), Ok(Bytes::from_static(b"true")));
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
            self.queues().discard(&event, &numbers);
            return Ok(());
        }
        let mut numbers = Vec::new();
        for row in rows {
            if self.commit.bytes_sent() >= BURIED_BYTES {
                break;
            }
            let message = self.burial(&event, code, row);
            self.commit.send(message);
            numbers.push(number_in(&row.key));
        }
        if numbers.is_empty() {
            self.record.queues.remove(&event);
        }
        self.queues().taken(&event, &numbers);
        Ok(())
    }

    /// Returns the message that moves an unread event: to the dead letters by default, or to its topic.
    fn burial(&self, event: &str, code: Option<&EventCode>, row: &Row) -> Option<Message> {
        let queued: Queued = decode(&row.body).ok()?;
        let topic = code.and_then(|code| code.options.topic_options());
        let key = queued.key.clone().filter(|_| !Bug::PublishedAstray.planted());
        let topic = topic.map(|options| (TopicName::new(event, key), options));
        match (code.map(|code| code.options.unread), topic) {
            _ if Bug::UnreadForgotten.planted() => None,
            // An event whose key is too long for a topic cannot be published, and becomes a dead letter.
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
