//! The memory of a run: its record, its body, and the first events of its queues. All of it may be dropped
//! before any turn (E13).

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use drystone_runtime::{Hot, Version};

use crate::{
    values::stored::{decode_part, is_same},
    workflow::{
        record::Record,
        replay::{ask::Code, live::Live},
    },
};

/// An estimate of the memory of one run: the two structs, and three times as much for what they point to.
const BYTES: usize = 4 * (size_of::<Memory>() + size_of::<Record>());

/// The memory of one run.
#[derive(Default)]
pub(super) struct Memory {
    /// Boxed, because a record is large and moves between the memory and each turn.
    record: Option<(Bytes, Box<Record>)>,
    pub(super) live: Option<Live>,
    pub(super) fronts: Fronts,
    /// Whether something was undone; a planted bug needs it.
    pub(super) has_undone: bool,
}

/// The first rows of the queues, by event type.
pub(super) type Fronts = BTreeMap<String, VecDeque<Front>>;

/// An event at the head of its queue.
#[derive(Clone, Debug)]
pub(super) struct Front {
    pub(super) number: u64,
    pub(super) body: Bytes,
}

impl Memory {
    /// Returns the memory in `hot`, and creates the memory if `hot` is empty.
    pub(super) fn of(hot: &mut Hot) -> &mut Self {
        if hot.get::<Self>().is_none() {
            hot.set_weighing(BYTES, Self::default());
        }
        hot.get::<Self>().expect("it was just put there")
    }

    /// Returns the record in `head`.
    pub(super) fn record(&mut self, head: &Bytes) -> Result<&Record, String> {
        let is_known = self.record.as_ref().is_some_and(|(known, _)| is_same(known, head));
        if !is_known {
            self.record = Some((head.clone(), Box::new(decode_part("head", head)?)));
        }
        Ok(&self.record.as_ref().expect("it was just put there").1)
    }

    /// Returns the record in `head`, with the body and the events in memory.
    pub(super) fn at_hand(&mut self, head: &Bytes) -> Result<(&Record, Option<&Live>, &Fronts), String> {
        self.record(head)?;
        let (_, record) = self.record.as_ref().expect("it was just put there");
        Ok((record, self.live.as_ref(), &self.fronts))
    }

    /// Takes the record in `head` out of the memory. The turn that changes the record puts it back.
    pub(super) fn take_record(&mut self, head: &Bytes) -> Result<Box<Record>, String> {
        self.record(head)?;
        Ok(self.record.take().expect("it was just put there").1)
    }

    pub(super) fn set_record(&mut self, head: Bytes, record: Box<Record>) {
        self.record = Some((head, record));
    }
}

/// Code that bodies made, held from when it is listed until it starts, because the kernel starts work
/// without the memory of its entity. The key has the id of the run: another run under the same key has
/// operations of the same names.
#[derive(Default)]
pub(super) struct Parcels(Mutex<BTreeMap<(Version, String), Code>>);

impl Parcels {
    pub(super) fn has(&self, run: Version, op: &str) -> bool {
        self.codes().contains_key(&(run, op.to_owned()))
    }

    pub(super) fn put(&self, run: Version, op: &str, code: Code) {
        self.codes().insert((run, op.to_owned()), code);
    }

    pub(super) fn take(&self, run: Version, op: &str) -> Option<Code> {
        self.codes().remove(&(run, op.to_owned()))
    }

    /// Drops the code of a run that has ended. It will never start.
    pub(super) fn forget(&self, run: Version) {
        let mut codes = self.codes();
        let of_run = codes.range((run, String::new())..).map(|(name, _)| name).take_while(|(of, _)| *of == run);
        let names: Vec<_> = of_run.cloned().collect();
        let gone: Vec<_> = names.iter().filter_map(|name| codes.remove(name)).collect();
        // The values of the author are dropped outside the lock, because dropping them may take long.
        drop(codes);
        drop(gone);
    }

    /// Drops the code of the run's older generations. It will never start.
    pub(super) fn forget_others(&self, run: Version, is_of: impl Fn(&str) -> bool) {
        let mut codes = self.codes();
        let of_run = codes.range((run, String::new())..).map(|(name, _)| name).take_while(|(of, _)| *of == run);
        let names: Vec<_> = of_run.filter(|(_, work)| !is_of(work)).cloned().collect();
        let gone: Vec<_> = names.iter().filter_map(|name| codes.remove(name)).collect();
        // Outside the lock, as in `forget`.
        drop(codes);
        drop(gone);
    }

    fn codes(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Version, String), Code>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
