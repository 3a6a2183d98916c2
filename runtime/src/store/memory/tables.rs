//! The tables of the store in memory, and how a batch changes them. Each write is checked as a whole, then
//! applied as a whole.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::lease::Owner;
use crate::{
    Entity, Fingerprint, Key, Lane, MessageId, Millis, Name, Partition, RowKey, Version,
    planted::Bug,
    store::{After, Batch, Guard, Letter, Once, Remembered, Touched, Verdict, Write},
};

/// The place of a message. Scans go by partition, and within a partition by key.
pub(super) type Slot = (Partition, Key, MessageId);

#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The last epoch that was assigned.
    pub(super) epoch: u32,
    pub(super) owners: Vec<Owner>,
    pub(super) bound: BTreeMap<Key, Version>,
    pub(super) entities: BTreeMap<Version, Entity>,
    /// The alarms of all entities, in the order in which they ring.
    pub(super) alarms: BTreeSet<(Millis, Version)>,
    pub(super) rows: BTreeMap<(Version, Lane, RowKey), Bytes>,
    /// Dropped lanes that have not been swept yet, and whether they are held.
    pub(super) dropped: BTreeMap<(Version, Lane), bool>,
    /// Destroyed entities that have not been swept yet.
    pub(super) destroyed: BTreeSet<Version>,
    pub(super) inbox: BTreeMap<Slot, Letter>,
    pub(super) remembered: BTreeMap<(Key, Once), Remembered>,
    pub(super) configs: BTreeMap<(Name, Fingerprint), Bytes>,
    pub(super) choices: BTreeMap<String, String>,
}

impl Tables {
    pub(super) fn new(partitions: u32) -> Self {
        Self { owners: (0..partitions).map(|_| Owner::default()).collect(), ..Self::default() }
    }

    pub(super) fn partitions(&self) -> u32 {
        self.owners.len() as u32
    }

    pub(super) fn commit(&mut self, batch: &Batch) -> Vec<Verdict> {
        for config in &batch.configs {
            let place = (config.definition.clone(), config.fingerprint);
            self.configs.entry(place).or_insert_with(|| config.body.clone());
        }
        let mut late = Vec::new();
        for &(partition, epoch) in &batch.epochs {
            match self.is_next(partition, epoch, batch.number) {
                true => drop(self.tell(partition, epoch, batch.now)),
                false => late.push(partition),
            }
        }
        self.delete_what_is_taken(batch);
        batch.writes.iter().map(|write| self.write(batch, &late, write)).collect()
    }

    /// A planted bug: deletes messages before it is known whether the writes that take them are applied.
    fn delete_what_is_taken(&mut self, batch: &Batch) {
        if Bug::InboxDeletedBefore.planted() {
            for write in &batch.writes {
                for id in &write.taken {
                    self.inbox.remove(&(write.partition, write.key.clone(), *id));
                }
            }
        }
    }

    fn write(&mut self, batch: &Batch, late: &[Partition], write: &Write) -> Verdict {
        if let Err(verdict) = self.check(batch, late, write) {
            return verdict;
        }
        self.apply(batch, write);
        Verdict::Applied
    }

    /// Checks everything that could prevent the write. This changes nothing, and nothing in `apply` can fail:
    /// together this makes a write atomic.
    fn check(&self, batch: &Batch, late: &[Partition], write: &Write) -> Result<(), Verdict> {
        self.check_epoch(batch, late, write)?;
        write.check(self.partitions()).map_err(Verdict::Refused)?;
        self.check_guard(write)?;
        self.check_taken(batch, write)?;
        self.check_rows(write)
    }

    fn check_epoch(&self, batch: &Batch, late: &[Partition], write: &Write) -> Result<(), Verdict> {
        let named = batch.epochs.iter().find(|(partition, _)| *partition == write.partition);
        let (Some(&(_, epoch)), Some(owner)) = (named, self.owners.get(write.partition.0 as usize)) else {
            return Err(Verdict::Refused(format!("the batch names no epoch of partition {}", write.partition.0)));
        };
        let is_late = late.contains(&write.partition);
        if owner.epoch == epoch && !is_late || owner.epoch != epoch && Bug::NoEpochCheck.planted() {
            return Ok(());
        }
        Err(Verdict::Fenced(owner.epoch))
    }

    fn check_guard(&self, write: &Write) -> Result<(), Verdict> {
        let found = self.entity(&write.key);
        let holds = match (write.guard, found) {
            (Guard::Absent, found) => found.is_none(),
            (Guard::At { id, version }, Some(found)) => {
                found.id == id && (found.version == version || Bug::NoVersionCheck.planted())
            }
            (Guard::At { .. }, None) => false,
        };
        if !holds {
            return Err(self.stale(write));
        }
        match &write.after {
            After::Entity(born) if write.guard == Guard::Absent && self.entities.contains_key(&born.id) => {
                Err(Verdict::Refused(format!("the id {} was given out before", born.id)))
            }
            _ => Ok(()),
        }
    }

    fn check_taken(&self, batch: &Batch, write: &Write) -> Result<(), Verdict> {
        let there = |id: &MessageId| {
            let place = (write.partition, write.key.clone(), *id);
            self.inbox.contains_key(&place) || Bug::InboxDeletedBefore.planted()
        };
        let known = |reply: &Remembered| {
            let found = self.remembered.get(&(write.key.clone(), reply.once.clone()));
            found.is_some_and(|found| found.expires_at > batch.now)
        };
        if write.taken.iter().all(there) && !write.remember.iter().any(known) {
            return Ok(());
        }
        Err(self.stale(write))
    }

    fn check_rows(&self, write: &Write) -> Result<(), Verdict> {
        let After::Entity(entity) = &write.after else { return Ok(()) };
        let put = write.rows.iter().filter(|(_, body)| body.is_some()).map(|((lane, _), _)| lane);
        for lane in put {
            let now = write.drop.iter().any(|dropped| dropped.lane == *lane);
            if now || self.dropped.contains_key(&(entity.id, lane.clone())) {
                return Err(Verdict::Refused(format!("the lane {lane} of {} was dropped", write.key)));
            }
        }
        Ok(())
    }

    fn stale(&self, write: &Write) -> Verdict {
        Verdict::Stale(self.entity(&write.key).map(|found| found.version))
    }

    fn apply(&mut self, batch: &Batch, write: &Write) {
        self.apply_lanes(write);
        match &write.after {
            After::Entity(entity) => {
                self.bind(entity, write.touched);
                self.apply_rows(entity.id, write);
            }
            After::Destroyed => self.destroy(&write.key),
            After::Unbound => {}
        }
        self.apply_inbox(batch, write);
        for reply in &write.remember {
            self.remembered.insert((write.key.clone(), reply.once.clone()), reply.clone());
        }
    }

    fn apply_lanes(&mut self, write: &Write) {
        if let Some(id) = write.entity() {
            for drop in &write.drop {
                self.dropped.insert((id, drop.lane.clone()), drop.held);
            }
        }
        for released in &write.release {
            if let Some(held) = self.dropped.get_mut(released) {
                *held = false;
            }
        }
    }

    /// Changes only the columns in `touched`, like a store that leaves the other columns alone. So tests find
    /// a kernel that reports too few columns.
    fn bind(&mut self, after: &Entity, touched: Touched) {
        let mut bound = after.clone();
        if let Some(before) = self.entities.remove(&after.id) {
            self.clear_alarm(&before);
            if touched < Touched::All {
                bound = Entity { version: after.version, updated_at: after.updated_at, ..before };
                (bound.head, bound.state) = (after.head.clone(), after.state.clone());
            }
            if touched >= Touched::Wake {
                (bound.alarm, bound.active) = (after.alarm, after.active);
            }
            if touched >= Touched::Status {
                bound.status = after.status.clone();
            }
        }
        self.alarms.extend(bound.alarm.map(|at| (at, bound.id)));
        self.bound.insert(bound.key.clone(), bound.id);
        self.entities.insert(bound.id, bound);
    }

    fn clear_alarm(&mut self, entity: &Entity) {
        if let Some(at) = entity.alarm {
            self.alarms.remove(&(at, entity.id));
        }
    }

    fn destroy(&mut self, key: &Key) {
        let Some(id) = self.bound.remove(key) else { return };
        if let Some(entity) = self.entities.remove(&id) {
            self.clear_alarm(&entity);
            self.destroyed.insert(id);
        }
    }

    fn apply_rows(&mut self, id: Version, write: &Write) {
        for ((lane, key), body) in write.rows.iter() {
            let place = (id, lane.clone(), key.clone());
            match body {
                Some(body) => self.rows.insert(place, body.clone()),
                None => self.rows.remove(&place),
            };
        }
    }

    fn apply_inbox(&mut self, batch: &Batch, write: &Write) {
        let slot = |id| (write.partition, write.key.clone(), id);
        for &id in &write.taken {
            self.inbox.remove(&slot(id));
        }
        for retry in &write.retry {
            if let Some(letter) = self.inbox.get_mut(&slot(retry.id)) {
                (letter.attempts, letter.at) = (retry.attempts, retry.at);
            }
        }
        for sent in &write.sent {
            let letter = || Letter {
                mark: sent.mark,
                id: sent.id,
                from: write.key.clone(),
                definition: sent.definition.clone(),
                verb: sent.verb.clone(),
                body: sent.body.clone(),
                attempts: 0,
                at: batch.now,
            };
            self.inbox.entry((sent.partition, sent.to.clone(), sent.id)).or_insert_with(letter);
        }
    }
}
