//! Reads that an entity needs before it can continue, and calls that only read.

use super::{
    Resident,
    idempotency::decode_reply,
    source::{Origin, Source},
    turn::guarded,
};
use crate::{
    Commit, Entity, Error, Hot, Millis, Next, Range, Rows, To, Work,
    kernel::{
        api::pending_call::Pending,
        state::{
            effects::{Effects, Ring},
            shared::Shared,
        },
    },
    planted::Bug,
    store::{Found, Once, Read, Remembered},
};

/// The most messages that are read from an inbox at once.
pub(crate) const INBOX_PAGE: u32 = 64;

impl Resident {
    /// Requests the record and the inbox together: the record says whether the inbox is up to date.
    pub(crate) fn read_inbox(&mut self, at: &Shared, out: &mut Effects) {
        if !self.reads.begin() {
            return;
        }
        let after = self.inbox.begin_read(at.unseen());
        self.read_record(out);
        out.reads.push(Read::Inbox { key: self.key.clone(), after, limit: INBOX_PAGE });
    }

    /// Requests the record, which says whether the rows or messages read with it are up to date.
    pub(crate) fn read_record(&mut self, out: &mut Effects) {
        self.reads.request_record(self.committed.as_ref().map(|entity| entity.version));
        out.reads.push(Read::Entity(self.key.clone()));
    }

    /// Requests rows for a turn or a listing, which is taken again when the rows are here.
    pub(crate) fn read_rows_for(&mut self, source: Source, ranges: Vec<Range>) {
        self.put_back(source);
        self.reads.want(ranges, self.tip.is_some());
    }

    /// Sends off the reads that are still to be made, when a visit ends.
    pub(crate) fn ask_for_rows(&mut self, out: &mut Effects) {
        if !self.reads.wants_rows() || !self.is_warm || !self.reads.begin() {
            return;
        }
        self.read_record(out);
        for range in self.reads.wanted() {
            let removed: u32 = self.commits.chains().map(|chain| chain.removals(&range.lane)).sum();
            let limit = range.limit.saturating_add(removed);
            let Some(entity) = range.of.or(self.tip.as_ref().map(|tip| tip.id)) else { continue };
            out.reads.push(Read::Rows { entity, range: Range { limit, ..range.clone() } });
        }
    }

    /// Returns the rows that were read, as they will be when all chains are durable.
    pub(crate) fn rows(&self) -> Rows {
        self.reads.rows(&self.commits.chains())
    }

    /// Requests the reply that is remembered under an idempotency key.
    pub(crate) fn look_up(&mut self, once: Once, out: &mut Effects) {
        if self.reads.begin() {
            out.reads.push(Read::Remembered { key: self.key.clone(), once });
        }
    }

    /// Takes in the results of a read.
    pub(crate) fn found(&mut self, reads: Vec<Read>, found: Vec<Found>, at: &Shared, out: &mut Effects) {
        self.reads.end();
        let mut is_current = true;
        for (read, found) in reads.into_iter().zip(found) {
            match (read, found) {
                (Read::Entity(_), Found::Entity(entity)) => is_current = self.found_entity(entity, at, out),
                (Read::Inbox { .. }, Found::Inbox(letters)) if is_current => {
                    self.found_inbox(letters, at, out);
                }
                (Read::Rows { range, .. }, Found::Rows(rows)) if is_current => self.reads.arrived(&range, rows),
                (Read::Remembered { once, .. }, Found::Remembered(remembered)) => {
                    self.found_remembered(&once, remembered, at, out);
                }
                _ => {}
            }
        }
        if is_current {
            self.reads.all_arrived();
        }
        self.inbox.end_read(is_current);
    }

    /// Takes in a record that was read, unless memory has a newer one. Returns whether the other results of
    /// the read are up to date; if a commit of ours came in between, they are read again.
    fn found_entity(&mut self, entity: Option<Box<Entity>>, at: &Shared, out: &mut Effects) -> bool {
        if self.is_of_a_later_owner(entity.as_deref()) {
            // Nothing here is valid any more. The timer makes the timer notice at once.
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
        version == committed || Some(version) == self.commits.version_in_flight()
    }

    /// Whether a later owner has written or destroyed the entity. If destruction were not noticed, a resident
    /// whose entity is gone would read it again and again until the lease ends.
    fn is_of_a_later_owner(&self, found: Option<&Entity>) -> bool {
        let Some(found) = found else { return self.is_destroyed_by_another() };
        found.version.epoch() > self.lease.epoch
    }

    /// Whether another owner has destroyed the entity, given that the store has no entity. It has, if the
    /// same entity is here as when the record was requested and no commit in flight destroys it: no version
    /// is used twice, so the entity was here all the time.
    fn is_destroyed_by_another(&self) -> bool {
        let committed = self.committed.as_ref().map(|entity| entity.version);
        self.is_warm && committed.is_some() && committed == self.reads.record_was() && !self.commits.is_destroying()
    }

    /// Takes in a record that a scan found.
    pub(crate) fn warm_up(&mut self, entity: Box<Entity>, at: &Shared) {
        if !self.is_warm && !self.reads.is_reading() {
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
        // After a power cut the highest time in the file may lie a little behind the times of its entities.
        at.time.told(entity.as_ref().map_or(Millis(0), |entity| entity.updated_at));
        self.is_warm = true;
        self.work.entity_loaded(entity.as_ref().is_some_and(|entity| entity.active));
        self.committed = entity.clone();
        self.tip = entity;
    }

    /// Takes in what is remembered under an idempotency key: a repeat gets the recorded reply, and the
    /// first call may run (E12).
    fn found_remembered(&mut self, once: &Once, found: Option<Remembered>, at: &Shared, out: &mut Effects) {
        let Some(found) = found.filter(|remembered| remembered.expires_at > at.time.now()) else {
            return self.queue.note_new(once);
        };
        let is_repeat = |pending: &Pending| pending.once.as_ref().is_some_and(|asked| asked.once == *once);
        for pending in self.queue.take_calls(is_repeat) {
            let is_same = pending.once.as_ref().is_some_and(|asked| asked.hash == found.hash);
            let mismatch = || Err(Error::IdempotencyMismatch { key: self.key.clone() });
            let reply = if is_same { decode_reply(&found.reply) } else { mismatch() };
            out.answers.push((pending, reply));
        }
    }

    /// Answers the next call that only reads, from the durable state (E3). Returns false if no such call
    /// waits.
    pub(crate) fn serve_read(&mut self, at: &Shared, out: &mut Effects) -> bool {
        let Some(pending) = self.queue.next_read() else { return false };
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
            Ok(Next::Commit(commit)) => out.answers.push(read_answer(&self.key, pending, commit)),
            Ok(Next::Run(work)) => {
                let work = Work { mark: work.mark.or(Some(now.mark)), ..work };
                self.start(work, Origin::Read(pending), &definition, at, out);
            }
            Ok(Next::Refuse(error)) => out.answers.push((pending, Err(error))),
            Ok(Next::Read(_)) => self.queue.add_read_as_call(pending),
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
}

fn read_answer(key: &crate::Key, pending: Pending, commit: Commit) -> (Pending, crate::Reply) {
    if commit.writes() {
        let message = "a read tried to write".to_owned();
        return (pending, Err(Error::Panicked { key: key.clone(), message }));
    }
    let own = commit.replies.into_iter().find(|(to, _)| *to == To::Ticket(pending.ticket));
    (pending, own.map_or(Ok(bytes::Bytes::new()), |(_, reply)| reply))
}
