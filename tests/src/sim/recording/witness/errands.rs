//! The durable runs: for each the model and the rows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use drystone_runtime::{
    Entity, RowKey, Version,
    store::{After, Write},
};
use serde::Deserialize;

use crate::sim::{
    apps::LETTERS,
    check,
    drawing::roster::Number,
    recording::log::Chronicle,
    workflows::{Entry, Kind, Ledgered, Life, Queued, Record},
};

use super::Family;

/// All runs.
#[derive(Default)]
pub struct Errands {
    runs: BTreeMap<Version, Run>,
    of: BTreeMap<Number, Version>,
    family: Family,
}

/// One run.
#[derive(Default)]
pub struct Run {
    /// The model of the run, absent before the first entry.
    pub life: Option<Life>,
    /// The record of the run.
    pub record: Record,
    /// The journal of the current generation.
    pub journal: Vec<Bytes>,
    /// The number of the trip that the run was first started with, if it was ever durable.
    pub root: Option<u64>,
    /// The rows of bookings, by generation and operation.
    pub claims: BTreeSet<(u32, RowKey)>,
    /// The queued events, by their numbers in the run.
    pub queues: BTreeMap<Kind, BTreeMap<u64, Ledgered>>,
    /// The inputs that are stored in rows.
    pub inputs: BTreeSet<(String, RowKey)>,
    /// All events that were ever durable in the run.
    pub seen: BTreeSet<u64>,
    /// All events that a wait has taken.
    pub taken: BTreeSet<u64>,
    /// The number of taken events before the last write.
    pub taken_before: u64,
    /// The events taken in the last write: type, number in the run, and the key of the wait.
    pub recent: Vec<(Kind, u64, Option<u8>)>,
    /// The epoch in which each event was queued.
    pub epochs: BTreeMap<u64, u64>,
    /// All events that have become dead letters.
    pub buried: BTreeSet<u64>,
}

/// The changes of one write to a run.
pub struct Written {
    /// The record after the write.
    pub record: Record,
    /// The rows of journals, by lane and number; `None` for a removed row.
    pub journal: Vec<(u32, u64, Option<Bytes>)>,
    /// The queues before the write.
    pub queues: BTreeMap<Kind, BTreeMap<u64, Ledgered>>,
    /// The events that the write sent to the dead letters.
    pub letters: Vec<u64>,
}

impl Errands {
    /// The run of a member.
    pub fn of(&self, member: Number) -> Option<&Run> {
        self.of.get(&member).and_then(|id| self.runs.get(id))
    }

    /// The run of this incarnation.
    pub fn run(&self, id: Version) -> Option<&Run> {
        self.runs.get(&id)
    }

    /// The children of all runs.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Takes a write and checks it.
    pub(super) fn applied(&mut self, chronicle: &Chronicle, member: Number, write: &Write) {
        let entity = match &write.after {
            After::Entity(entity) => entity,
            After::Destroyed | After::Unbound => {
                let run = self.of.remove(&member).and_then(|id| self.runs.get(&id));
                check::inspect_orphans(chronicle, &mut self.family, run, write);
                return;
            }
        };
        self.of.insert(member, entity.id);
        let run = self.runs.entry(entity.id).or_default();
        let Ok(record) = serde_json::from_slice::<Record>(&entity.head) else {
            return check::errand_is_unreadable(chronicle, entity);
        };
        let change = run.take(record, write, entity.version.0 >> 32);
        check::inspect_family(chronicle, &mut self.family, run, &change.record, write);
        check::inspect_errand(chronicle, entity, run, &change);
        check::inspect_ends(chronicle, &mut self.family, run, &change, write);
        run.record = change.record;
    }
}

impl Run {
    /// Applies the rows of a write to the run.
    fn take(&mut self, record: Record, write: &Write, epoch: u64) -> Written {
        let (queues, mut journal) = (self.queues.clone(), Vec::new());
        for ((lane, key), body) in write.rows.iter() {
            let number = key[..].try_into().map_or(u64::MAX, u64::from_be_bytes);
            match lane.split_once('/') {
                Some(("journal", of)) => journal.push((of.parse().unwrap_or(0), number, body.clone())),
                Some(("inputs", of)) if body.is_some() => drop(self.inputs.insert((of.to_owned(), key.clone()))),
                Some(("inputs", of)) => drop(self.inputs.remove(&(of.to_owned(), key.clone()))),
                Some(("transactions", of)) => {
                    let claim = (of.parse().unwrap_or(0), key.clone());
                    if body.is_some() {
                        self.claims.insert(claim)
                    } else {
                        self.claims.remove(&claim)
                    };
                }
                _ => self.event(lane, number, body.as_ref(), epoch),
            }
        }
        for kind in Kind::ALL {
            if write.drop.iter().any(|gone| gone.lane.strip_prefix("event/") == Some(kind.name())) {
                self.queues.remove(&kind);
            }
        }
        self.inputs.retain(|(of, _)| !write.drop.iter().any(|gone| gone.lane == format!("inputs/{of}").as_str()));
        let letters: Vec<_> = write.sent.iter().filter(|sent| sent.to == LETTERS).filter_map(buried).collect();
        self.seen.extend(&letters);
        self.buried.extend(&letters);
        self.recent.clear();
        Written { record, journal, queues, letters }
    }

    fn event(&mut self, lane: &str, number: u64, body: Option<&Bytes>, epoch: u64) {
        let Some(kind) = Kind::ALL.into_iter().find(|kind| lane.strip_prefix("event/") == Some(kind.name())) else {
            return;
        };
        let queue = self.queues.entry(kind).or_default();
        match body.and_then(|body| serde_json::from_slice::<Queued>(body).ok()) {
            Some(queued) => {
                self.seen.insert(queued.event.number);
                self.epochs.insert(queued.event.number, epoch);
                queue.insert(number, queued.event);
            }
            None => drop(queue.remove(&number)),
        }
    }

    /// Decodes a row of the journal.
    pub fn entry(body: &Bytes) -> Result<Entry, String> {
        serde_json::from_slice(body).map_err(|error| format!("{error} in {body:?}"))
    }

    /// The number of events of a type that were overwritten or expired.
    pub fn lost(&self, kind: Kind) -> u64 {
        self.record.queues.get(kind.name()).map_or(0, |queue| queue.overwritten + queue.expired)
    }
}

/// The number of an event in a message to the dead letters.
fn buried(sent: &drystone_runtime::store::Outgoing) -> Option<u64> {
    let [letter] = serde_json::from_slice::<[Buried; 1]>(&sent.body).ok().filter(|_| sent.verb == "event")?;
    Some(letter.payload.number)
}

/// An event in a message to the dead letters.
#[derive(Deserialize)]
struct Buried {
    payload: Ledgered,
}

/// Decodes the stored state of a run.
pub(crate) fn state_of(entity: &Entity) -> Option<crate::sim::apps::Errand> {
    serde_json::from_slice(&entity.state).ok()
}
