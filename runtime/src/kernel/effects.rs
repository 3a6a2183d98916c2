//! What a visit or a settlement leaves to be done outside of the entity it was about.

use std::{any::Any, sync::Arc, time::Duration};

use super::{pending::Pending, watchdog::Station, working::Running};
use crate::{
    Key, Lifecycle, Millis, Name, Reply,
    store::{Letter, Read},
};

/// Done by the core when the entity is put back: letters first, then answers (M2).
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Messages that became durable.
    pub(crate) letters: Vec<(Key, Letter)>,
    /// Keys whose inbox may have a message that memory does not know of.
    pub(crate) looks: Vec<Key>,
    /// Answers that may go out.
    pub(crate) answers: Vec<(Pending, Reply)>,
    /// Work that is dropped: its code may have something to say when it goes, so not under a lock.
    pub(crate) dropped: Vec<Running>,
    /// What is thrown away: a drop of the author's may panic or call us, so not under a lock either.
    pub(crate) trash: Vec<Trash>,
    /// What listeners are told.
    pub(crate) events: Vec<Event>,
    /// What must be read before the entity can go on.
    pub(crate) reads: Vec<Read>,
    /// The alarm as it is stored now, if it may have changed.
    pub(crate) alarm: Option<Option<Millis>>,
    /// When the key must be visited again, by the monotonic clock, and what for.
    pub(crate) timers: Vec<(Duration, Ring)>,
    /// Other keys that may go on.
    pub(crate) wake: Vec<Key>,
    /// The key waits for a free place to run work.
    pub(crate) wants_work_place: bool,
    /// The hand that is at it.
    pub(crate) station: Option<Arc<Station>>,
    /// Alarms that rang.
    pub(crate) rung: u64,
    /// Turns taken.
    pub(crate) turns: u64,
    /// Pieces of work started.
    pub(crate) started: u64,
    /// Ends of work that matched nothing.
    pub(crate) late_ends: u64,
    /// Messages that became dead letters.
    pub(crate) dead_letters: u64,
}

/// Why a key is visited at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ring {
    /// Something that failed may be tried again.
    Again,
    /// This run has had its time.
    TimedOut(u64),
    /// This run may have been silent for too long.
    Silent(u64),
    /// Its work has run long enough not to be held against it.
    Probation,
    /// The process has lived without it for long enough.
    Control,
}

/// Something that happened to an entity, told after its commit (E15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The entity.
    pub key: Key,
    /// Its definition.
    pub definition: Name,
    /// What happened.
    pub lifecycle: Lifecycle,
}

impl Effects {
    /// Says, for the watchdog, whose code is about to run.
    pub(crate) fn doing(&self, key: &Key, input: &crate::Input) {
        if let Some(station) = &self.station {
            station.doing(key, input.name());
        }
    }
}

/// Something that holds values of the author's and is no longer needed: memory, ends of work, a whole body.
pub(crate) type Trash = Box<dyn Any + Send>;
