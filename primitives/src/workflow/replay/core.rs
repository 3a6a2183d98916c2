//! The state that a body shares with the engine: the operations that the body asked for, and their
//! outcomes.
//!
//! The body reaches no further than this: it asks for an operation by its identity and waits. When the body
//! rests, the engine looks here, and delivers one outcome at a time. Only one thread at a time has a run,
//! so the lock is never contended.

use std::{
    any::Any,
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};

use bytes::Bytes;
use drystone_runtime::{Millis, Name, stable_hash};

use super::{ask::Ask, journal::Recorded, op_id::OpId};
use crate::{
    planted::Bug,
    workflow::body::version::{Unsupported, Versions},
};

/// The body's side of its run. Generated code passes it on; authors use a [`Flow`](crate::workflow::Flow).
#[derive(Clone)]
pub struct Core(Arc<Shared>);

struct Shared {
    key: Bytes,
    seed: u64,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    /// The branch that is being polled: empty at the root, `1.0/` in the first arm of the first combinator.
    branch: Arc<str>,
    /// How often each name was used in each branch.
    used: HashMap<(Arc<str>, Name), u32>,
    /// Operations that were asked for and have not ended.
    open: BTreeMap<OpId, Open>,
    asked: Vec<(OpId, Ask)>,
    dropped: Vec<OpId>,
    released: Vec<OpId>,
    stop: Option<Stop>,
    now: Millis,
    /// The author's struct; `None` while it is lent to a closure.
    state: Option<Box<dyn Any + Send>>,
    state_changed: bool,
    /// The versions of its code that the run is pinned to.
    versions: Versions,
}

struct Open {
    waker: Option<Waker>,
    told: Option<Recorded>,
    /// Whether this is a wait for a condition on the state.
    watches: bool,
}

impl Inside {
    /// The wakers of all operations that wait for a condition on the state.
    fn watching(&self) -> Vec<Waker> {
        self.open.values().filter(|open| open.watches).filter_map(|open| open.waker.clone()).collect()
    }
}

/// Why a body does not continue.
#[derive(Debug)]
pub(in crate::workflow) enum Stop {
    /// An operation ended in a fault that the body does not catch.
    Fault(crate::workflow::Fault),
    /// This code cannot read a recorded value: the operation and the reason.
    Unreadable(OpId, String),
    /// The run continues as a new generation, with these parameters.
    Continue(Bytes),
    /// The run is pinned to a version that this code does not support.
    Unsupported(Unsupported),
}

/// The body's requests since the engine last looked.
#[derive(Default)]
pub(in crate::workflow) struct Moves {
    pub(in crate::workflow) asked: Vec<(OpId, Ask)>,
    pub(in crate::workflow) dropped: Vec<OpId>,
    /// Permits that the body has released.
    pub(in crate::workflow) released: Vec<OpId>,
}

thread_local! {
    static CURRENT: RefCell<Option<Core>> = const { RefCell::new(None) };
}

impl Core {
    pub(in crate::workflow) fn new(key: Bytes, seed: u64, state: Box<dyn Any + Send>) -> Self {
        let inside = Inside { state: Some(state), ..Inside::default() };
        Self(Arc::new(Shared { key, seed, inside: Mutex::new(inside) }))
    }

    /// The run whose body is being polled on this thread.
    ///
    /// # Panics
    /// Outside the body of a workflow, because there is no run that could record the outcome.
    pub(in crate::workflow) fn current() -> Self {
        let current = CURRENT.with(|current| current.borrow().clone());
        current.expect("`join!`, `select!` and `join_all` of drystone are for the body of a workflow")
    }

    /// Runs `poll` as the body of this run.
    pub(in crate::workflow) fn enter<T>(&self, poll: impl FnOnce() -> T) -> T {
        let _outer = Entered(CURRENT.with(|current| current.replace(Some(self.clone()))));
        poll()
    }

    /// Refuses use from outside the body: such a request would have no effect, and a replay would not
    /// repeat it.
    ///
    /// # Panics
    /// Unless the body of this run is being polled, or dropped, on this thread.
    pub(in crate::workflow) fn must_be_polled(&self) {
        let is_polled = CURRENT.with_borrow(|current| {
            let current = current.as_ref();
            current.is_some_and(|current| Arc::ptr_eq(&current.0, &self.0))
        });
        assert!(
            is_polled,
            "`flow` is the body's: the code of `flow.run`, and all else that runs beside the body, cannot use it; await \
             it in the body, and hand over what it comes to"
        );
    }

    /// Lends the versions that the run is pinned to.
    pub(in crate::workflow) fn with_versions<T>(&self, lend: impl FnOnce(&mut Versions) -> T) -> T {
        lend(&mut self.inside().versions)
    }

    pub(in crate::workflow) fn key(&self) -> &Bytes {
        &self.0.key
    }

    pub(in crate::workflow) fn now(&self) -> Millis {
        self.inside().now
    }

    pub(in crate::workflow) fn set_now(&self, now: Millis) {
        self.inside().now = now;
    }

    /// A random number that is the same in every replay.
    pub(in crate::workflow) fn random(&self) -> u64 {
        let id = self.identity(&Name::new("random"));
        stable_hash(&[&self.0.seed.to_be_bytes(), id.as_str().as_bytes()])
    }

    /// The next identity of this name in the branch that is being polled.
    pub(in crate::workflow) fn identity(&self, name: &Name) -> OpId {
        self.must_be_polled();
        let mut inside = self.inside();
        let branch = if Bug::OrdinalIds.planted() { "".into() } else { inside.branch.clone() };
        let count = inside.used.entry((branch.clone(), name.clone())).or_default();
        *count += 1;
        OpId::new(&branch, name.as_str(), *count)
    }

    /// Makes a branch for each arm of a combinator, from the combinator's number in this branch and the
    /// arm's number.
    pub(in crate::workflow) fn fork(&self) -> impl Fn(usize) -> Arc<str> + use<> {
        let mut inside = self.inside();
        let branch = inside.branch.clone();
        let count = inside.used.entry((branch.clone(), Name::new(""))).or_default();
        *count += 1;
        let count = *count;
        move |arm| format!("{branch}{count}.{arm}/").into()
    }

    /// Runs `poll` in a branch.
    pub(in crate::workflow) fn within<T>(&self, branch: &Arc<str>, poll: impl FnOnce() -> T) -> T {
        let outer = std::mem::replace(&mut self.inside().branch, branch.clone());
        let _restored = Restored(self, outer);
        poll()
    }

    pub(in crate::workflow) fn set_branch(&self, branch: &str) {
        self.inside().branch = branch.into();
    }

    /// Asks for an operation. Called at the operation's first poll.
    pub(in crate::workflow) fn ask(&self, id: &OpId, ask: Ask, waker: &Waker) {
        let mut inside = self.inside();
        let watches = matches!(ask, Ask::Until);
        inside.asked.push((id.clone(), ask));
        inside.open.insert(id.clone(), Open { waker: Some(waker.clone()), told: None, watches });
    }

    /// Delivers an outcome to an operation that was not asked for yet: a planted bug.
    pub(in crate::workflow) fn tell_early(&self, id: &str, recorded: Recorded) {
        self.inside().open.insert(id.into(), Open { waker: None, told: Some(recorded), watches: false });
    }

    /// Takes the outcome of an operation. Without an outcome, keeps the waker for later.
    pub(in crate::workflow) fn look(&self, id: &OpId, waker: &Waker) -> Option<Recorded> {
        let mut inside = self.inside();
        let open = inside.open.get_mut(id)?;
        if open.told.is_none() {
            open.waker = Some(waker.clone());
            return None;
        }
        inside.open.remove(id).and_then(|open| open.told)
    }

    /// Delivers an outcome to an operation; `false` if no operation has this identity.
    pub(in crate::workflow) fn tell(&self, id: &OpId, recorded: Recorded) -> bool {
        let mut inside = self.inside();
        let Some(open) = inside.open.get_mut(id) else { return false };
        open.told = Some(recorded);
        let waker = open.waker.take();
        drop(inside);
        // Without the lock: waking runs code of combinators, which may be another crate's.
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Releases an operation before it has ended.
    pub(in crate::workflow) fn let_go(&self, id: &OpId) {
        let mut inside = self.inside();
        if inside.open.remove(id).is_some() {
            inside.dropped.push(id.clone());
        }
    }

    /// Notes a permit that the body has released.
    pub(in crate::workflow) fn release(&self, id: &OpId) {
        self.inside().released.push(id.clone());
    }

    pub(in crate::workflow) fn stop(&self, stop: Stop) {
        self.inside().stop.get_or_insert(stop);
    }

    pub(in crate::workflow) fn has_stop(&self) -> bool {
        self.inside().stop.is_some()
    }

    pub(in crate::workflow) fn take_stop(&self) -> Option<Stop> {
        self.inside().stop.take()
    }

    pub(in crate::workflow) fn take_moves(&self) -> Moves {
        let mut inside = self.inside();
        Moves {
            asked: std::mem::take(&mut inside.asked),
            dropped: std::mem::take(&mut inside.dropped),
            released: std::mem::take(&mut inside.released),
        }
    }

    /// Whether any operation is outstanding.
    pub(in crate::workflow) fn waits(&self) -> bool {
        !self.inside().open.is_empty()
    }

    /// Lends the author's struct.
    ///
    /// # Panics
    /// If the struct is lent already: a change within a change.
    pub(in crate::workflow) fn with_state<W: 'static, T>(&self, change: bool, lend: impl FnOnce(&mut W) -> T) -> T {
        // Taken out, so that the author's closure runs without the lock.
        let mut state = self.inside().state.take().expect("the state of a run is lent to one closure at a time");
        let value = lend(state.downcast_mut::<W>().expect("a run has the state of its workflow"));
        let mut inside = self.inside();
        inside.state = Some(state);
        inside.state_changed |= change;
        let watching = if change { inside.watching() } else { Vec::new() };
        drop(inside);
        watching.into_iter().for_each(Waker::wake);
        value
    }

    /// Whether the state was changed since the last call.
    pub(in crate::workflow) fn take_state_changed(&self) -> bool {
        std::mem::take(&mut self.inside().state_changed)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Restores the run that was current before, when dropped.
struct Entered(Option<Core>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// Restores the outer branch when dropped, also if the arm panics.
struct Restored<'a>(&'a Core, Arc<str>);

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        self.0.inside().branch = self.1.clone();
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Core({})", self.0.key.escape_ascii())
    }
}
