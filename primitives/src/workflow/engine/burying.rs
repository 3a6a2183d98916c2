//! What is left to do for a run that has ended: its unread events are buried (D1), and in the end it goes itself (L9).

use drystone_runtime::{DeadLetter, Message, MessageId, Millis, Name, Range, Row, Version};

use super::{
    super::{Workflow, event::Unread},
    queueing::{Queued, lane, number_in},
    turning::{Halt, Turning},
};
use crate::{Timestamp, dead_letters, decode, encode, planted::Bug};

/// Unread events that are buried in one turn.
const BURIED_PER_TURN: u32 = 200;

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
        let is_mourned = !Bug::UnreadForgotten.planted()
            && Self::accepted(&event).map_or(true, |code| code.options.unread == Unread::DeadLetter);
        let numbers: Vec<u64> = rows.iter().map(|row| number_in(&row.key)).collect();
        if is_mourned {
            let letters = rows.iter().zip(&numbers).filter_map(|(row, number)| self.letter(&event, *number, row));
            let letters: Vec<Message> = letters.collect();
            self.commit.send.extend(letters);
        }
        if numbers.is_empty() {
            self.record.queues.remove(&event);
        }
        self.taken(&event, &numbers);
        Ok(())
    }

    /// An event as a dead letter: the message that would send it again.
    fn letter(&self, event: &str, number: u64, row: &Row) -> Option<Message> {
        let queued: Queued = decode(&row.body).ok()?;
        let status = self.record.phase().word();
        let body = encode(&(event, &queued.event)).ok()?;
        let id = MessageId {
            version: self.seen.entity.map_or(Version(0), |entity| entity.id),
            index: u32::try_from(number).ok()?,
        };
        let dead = DeadLetter {
            id,
            from: self.seen.key.clone(),
            to: self.seen.key.clone(),
            definition: self.seen.definition.clone(),
            verb: Name::new("send"),
            body,
            reason: format!(
                "the run is {status}, and nobody took the event `{event}` of {}",
                Timestamp::from_millis(queued.at)
            ),
            error: bytes::Bytes::new(),
            attempts: 0,
        };
        let (to, definition) = (dead_letters::address(), dead_letters::DEFINITION);
        Some(Message { to, definition, verb: Name::new("letter"), body: dead.encode() })
    }
}
