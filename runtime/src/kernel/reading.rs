//! What must be read before an entity can go on, and the calls that only read.

use super::{
    body::Body,
    effects::{Effects, Ring},
    pending::Pending,
    remembering::decode_reply,
    shared::Shared,
    source::{Origin, Source},
    turning::guarded,
};
use crate::{
    Commit, Entity, Error, Hot, Millis, Next, Rows, To, Work,
    planted::Bug,
    store::{Found, Once, Read, Remembered},
};

/// Letters read at once.
pub(crate) const INBOX_PAGE: u32 = 64;

impl Body {
    /// Asks for the record, and the inbox with it: they belong together.
    pub(crate) fn read_inbox(&mut self, at: &Shared, out: &mut Effects) {
        if self.is_reading {
            return;
        }
        self.is_reading = true;
        self.inbox_awaited = std::mem::take(&mut self.inbox_missed);
        // What is expected while the read is under way may not be in it.
        self.inbox_asked = at.unseen();
        self.read_record(out);
        out.reads.push(Read::Inbox { key: self.key.clone(), after: self.inbox_after, limit: INBOX_PAGE });
    }

    /// Asks for the record, which says whether what is read with it is of now.
    pub(crate) fn read_record(&mut self, out: &mut Effects) {
        self.asked_at = self.committed.as_ref().map(|entity| entity.version);
        out.reads.push(Read::Entity(self.key.clone()));
    }

    pub(crate) fn look_up(&mut self, once: Once, out: &mut Effects) {
        if !self.is_reading {
            self.is_reading = true;
            out.reads.push(Read::Remembered { key: self.key.clone(), once });
        }
    }

    /// What was asked for is here.
    pub(crate) fn found(&mut self, reads: Vec<Read>, found: Vec<Found>, at: &Shared, out: &mut Effects) {
        self.is_reading = false;
        let mut is_current = true;
        for (read, found) in reads.into_iter().zip(found) {
            match (read, found) {
                (Read::Entity(_), Found::Entity(entity)) => is_current = self.found_entity(entity, at, out),
                (Read::Inbox { .. }, Found::Inbox(letters)) if is_current => {
                    self.found_inbox(letters, at, out);
                }
                (Read::Rows { range, .. }, Found::Rows(rows)) if is_current => self.found_rows(&range, rows),
                (Read::Remembered { once, .. }, Found::Remembered(remembered)) => {
                    self.found_remembered(&once, remembered, at, out);
                }
                _ => {}
            }
        }
        if is_current {
            self.wanted_rows.clear();
        }
        self.inbox_missed |= std::mem::take(&mut self.inbox_awaited) && !is_current;
    }

    /// Takes a record that was read, unless something newer is here. Says whether what was read with it
    /// belongs to what is here: if a commit of ours came between, it is read again.
    fn found_entity(&mut self, entity: Option<Box<Entity>>, at: &Shared, out: &mut Effects) -> bool {
        if self.is_of_a_later_owner(entity.as_deref()) {
            // Nothing here holds any more, and the ringer is to know at once.
            self.lease.lose();
            out.timers.push((at.driver.monotonic(), Ring::Again));
            return false;
        }
        if !self.is_warm {
            self.warm_up_with(entity.map(|entity| *entity), at);
            return true;
        }
        let version = entity.map(|entity| entity.version);
        let committed = self.committed.as_ref().map(|entity| entity.version);
        let flying = self.flying.as_ref().map(|(_, after)| after.as_ref().map(|entity| entity.version));
        version == committed || Some(version) == flying
    }

    /// Whether a later owner has written the entity, or destroyed it. Without the second, a body whose entity is gone reads it again
    /// and again until its lease ends.
    fn is_of_a_later_owner(&self, found: Option<&Entity>) -> bool {
        let Some(found) = found else { return self.is_destroyed_by_another() };
        found.version.epoch() > self.lease.epoch
    }

    /// The store has no entity. It is another owner's doing if the same one stands here as when the record was asked for, and nothing on
    /// the way destroys it: no version is given out twice, so it was there all the time.
    fn is_destroyed_by_another(&self) -> bool {
        let committed = self.committed.as_ref().map(|entity| entity.version);
        let is_ours = self.flying.as_ref().is_some_and(|(flying, _)| flying.destroys);
        self.is_warm && committed.is_some() && committed == self.asked_at && !is_ours
    }

    /// A scan found this record.
    pub(crate) fn warm_up(&mut self, entity: Box<Entity>, at: &Shared) {
        if !self.is_warm && !self.is_reading {
            self.warm_up_with(Some(*entity), at);
        }
    }

    fn warm_up_with(&mut self, mut entity: Option<Entity>, at: &Shared) {
        if let Some(entity) = entity.as_mut().filter(|entity| entity.version.epoch() < self.lease.epoch)
            && Bug::DeadlineRecomputed.planted()
        {
            let since = entity.alarm.map(|alarm| alarm.since(entity.updated_at));
            entity.alarm = since.map(|since| at.time.now().after(since));
        }
        // The file's highest time may lie a little behind its entities after a power cut.
        at.time.told(entity.as_ref().map_or(Millis(0), |entity| entity.updated_at));
        self.is_warm = true;
        self.may_have_left = entity.as_ref().is_some_and(|entity| entity.active);
        self.relist |= self.may_have_left;
        self.committed = entity.clone();
        self.tip = entity;
    }

    /// A repeat gets the recorded reply; the first of its key may run (E12).
    fn found_remembered(&mut self, once: &Once, found: Option<Remembered>, at: &Shared, out: &mut Effects) {
        let found = found.filter(|remembered| remembered.expires_at > at.time.now());
        let mut kept = std::collections::VecDeque::new();
        for source in std::mem::take(&mut self.queue) {
            let Source::Call(mut pending) = source else {
                kept.push_back(source);
                continue;
            };
            match (pending.once.as_mut().filter(|asked| asked.once == *once), &found) {
                (None, _) => kept.push_back(Source::Call(pending)),
                (Some(asked), None) => {
                    asked.is_new = true;
                    kept.push_back(Source::Call(pending));
                }
                (Some(asked), Some(found)) if asked.hash == found.hash => {
                    out.answers.push((pending, decode_reply(&found.reply)));
                }
                (Some(_), Some(_)) => {
                    out.answers.push((pending, Err(Error::IdempotencyMismatch { key: self.key.clone() })));
                }
            }
        }
        self.queue = kept;
    }

    /// Answers the next call that only reads, from what is durable (E3).
    pub(crate) fn serve_read(&mut self, at: &Shared, out: &mut Effects) -> bool {
        let Some(pending) = self.reads.pop_front() else { return false };
        if pending.caller.is_gone() {
            return true;
        }
        let definition = match &self.committed {
            Some(entity) if entity.definition != pending.definition => Err(Error::TypeMismatch {
                key: self.key.clone(),
                bound: entity.definition.to_string(),
                requested: pending.definition.to_string(),
            }),
            _ => at.registry.get(&pending.definition).cloned(),
        };
        let definition = match definition {
            Ok(definition) => definition,
            Err(error) => {
                out.answers.push((pending, Err(error)));
                return true;
            }
        };
        out.turns += 1;
        let input = pending.input();
        out.doing(&self.key, &input);
        let (entity, now) = (self.committed.as_ref(), at.now());
        let mut hot = Hot::default();
        match guarded(|| definition.handler.turn(&mut hot, &self.key, entity, &Rows::default(), &input, now)) {
            Ok(Next::Commit(commit)) => out.answers.push(read_answer(pending, commit)),
            Ok(Next::Run(work)) => {
                let work = Work { mark: work.mark.or(Some(now.mark)), ..work };
                self.start(work, Origin::Read(pending), &definition, at, out);
            }
            Ok(Next::Refuse(error)) => out.answers.push((pending, Err(error))),
            Ok(Next::Read(_)) => self.read_as_call(pending),
            Ok(Next::Park(reason)) => {
                let error = Error::Malformed { verb: pending.verb.to_string(), reason };
                out.answers.push((pending, Err(error)));
            }
            Err(message) => {
                let error = Error::Panicked { key: self.key.clone(), message };
                out.answers.push((pending, Err(error)));
            }
        }
        true
    }

    /// A read that needs rows goes through the mailbox, where rows are read for turns.
    fn read_as_call(&mut self, pending: Pending) {
        self.queue.push_back(Source::Call(pending));
    }
}

fn read_answer(pending: Pending, commit: Commit) -> (Pending, crate::Reply) {
    if commit.writes() {
        let message = "a read tried to write".to_owned();
        let key = crate::Key { space: pending.definition.clone(), key: pending.verb.as_str().to_owned().into() };
        return (pending, Err(Error::Panicked { key, message }));
    }
    let own = commit.replies.into_iter().find(|(to, _)| *to == To::Ticket(pending.ticket));
    (pending, own.map_or(Ok(bytes::Bytes::new()), |(_, reply)| reply))
}
