//! What is left to do for a run that has ended: its unread events are buried (D1), and in the end it goes itself (L9).

use drystone_runtime::{Message, Millis, Range, Row};

use super::{
    super::{EventCode, Workflow, event::Unread},
    queueing::{Queued, lane, number_in},
    turning::{Halt, Turning},
};
use crate::{
    Timestamp, dead_letters, decode,
    planted::Bug,
    topics::wire::{PUBLISH, Publish, TopicName},
};

/// Unread events that are buried in one turn, and their bytes (K3).
const BURIED_PER_TURN: u32 = 200;
const BURIED_BYTES: usize = 2 << 20;

impl<W: Workflow> Turning<'_, W> {
    pub(super) fn has_unread(&self) -> bool {
        self.record.queues.values().any(|queue| queue.count > 0)
    }

    /// What is left to do for a run that has ended: unread events are buried (D1), and in the end it goes itself (L9).
    pub(super) fn after_the_end(&mut self) -> Result<(), Halt> {
        self.tell_parent_late()?;
        if self.has_unread() {
            return self.bury();
        }
        let kept_until = self.record.end.as_ref().map(|end| Millis(end.at).after(W::options().keeps_for()));
        self.commit.destroy = kept_until.is_some_and(|until| until <= self.seen.now);
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
        queue.discarded += numbers.len() as u64;
        if numbers.is_empty() {
            queue.count = 0;
        }
        self.taken(event, numbers);
        self.tell_listeners("workflow.discarded", &[("event", event.to_owned()), ("count", numbers.len().to_string())]);
    }

    /// What becomes of an event that nobody took: a dead letter, unless its type says otherwise.
    fn burial(&self, event: &str, code: Option<&EventCode>, row: &Row) -> Option<Message> {
        let queued: Queued = decode(&row.body).ok()?;
        let topic = code.and_then(|code| code.options.topic_options());
        let topic = topic.map(|options| (TopicName::new(event, queued.key.clone()), options));
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
