//! The effects of a visit or a settlement outside the entity.

use std::{any::Any, sync::Arc, time::Duration};

use crate::{
    Key, Lifecycle, Millis, Name, Reply,
    kernel::{api::pending_call::Pending, resident::work::Running, threads::watchdog::ThreadSlot},
    store::{Letter, Read},
};

/// Carried out by the core when the entity is put back: messages first, then answers (M2). Each kind of
/// effect has one field.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Messages that became durable.
    pub(crate) messages: Vec<(Key, Letter)>,
    /// Keys whose inbox may have a message that memory does not know of.
    pub(crate) looks: Vec<Key>,
    /// Answers that may go out.
    pub(crate) answers: Vec<(Pending, Reply)>,
    /// Work that is dropped, but not under a lock: dropping its code may run code of the author's.
    pub(crate) dropped: Vec<Running>,
    /// Values to drop, but not under a lock: a drop of the author's may panic or call the kernel.
    pub(crate) trash: Vec<Trash>,
    /// Events for listeners.
    pub(crate) events: Vec<Event>,
    /// Reads that the entity needs before it can continue.
    pub(crate) reads: Vec<Read>,
    /// The alarm as it is stored now, if it may have changed.
    pub(crate) alarm: Option<Option<Millis>>,
    /// When the key must be visited again, by the monotonic clock, and why.
    pub(crate) timers: Vec<(Duration, Ring)>,
    /// Other keys that can continue.
    pub(crate) wake: Vec<Key>,
    /// The key waits for a free place to run work.
    pub(crate) wants_work_place: bool,
    /// The thread of the visit, as the watchdog sees it.
    pub(crate) thread: Option<Arc<ThreadSlot>>,
    /// Alarms that rang.
    pub(crate) rung: u64,
    /// Turns taken.
    pub(crate) turns: u64,
    /// Pieces of work started.
    pub(crate) started: u64,
    /// Ends of work that matched no running work.
    pub(crate) late_ends: u64,
    /// Messages that became dead letters.
    pub(crate) dead_letters: u64,
}

/// Why a key is visited at a set time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ring {
    /// An input that waited can be tried now.
    Again,
    /// The timeout of this run may have passed.
    TimedOut(u64),
    /// This run may have been silent for too long.
    Silent(u64),
    /// The probation is over: the work has run long enough to be cleared.
    Probation,
    /// The control is over: the process has lived without the entity long enough.
    Control,
}

/// A lifecycle event of an entity, emitted after the commit (E15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The key of the entity.
    pub key: Key,
    /// The definition of the entity.
    pub definition: Name,
    /// What happened.
    pub lifecycle: Lifecycle,
}

impl Effects {
    /// Names the code that is about to run, for the watchdog.
    pub(crate) fn doing(&self, key: &Key, input: &crate::Input) {
        if let Some(slot) = &self.thread {
            slot.doing(key, input.name());
        }
    }
}

/// A value that may hold values of the author's and is no longer needed: memory, ends of work, a whole
/// resident.
pub(crate) type Trash = Box<dyn Any + Send>;
