//! The ground that a body and the engine share: what the body has asked for, and what it was told.
//!
//! A body never reaches further than this: it asks for an operation by its identity and waits. The engine looks here when the
//! body has come to rest, and tells one operation at a time what has become of it. One thread at a time has a run, so the
//! lock is never contended.

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

use super::{
    ask::Ask,
    journal::Recorded,
    version::{Unsupported, Versions},
};
use crate::planted::Bug;

/// The identity of an operation within its run: branch, name and occurrence, `1.0/charge#2` (W4).
pub(super) type OpId = Arc<str>;

/// What a body holds of its run. Generated code hands it on; authors hold a [`Flow`](super::Flow).
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
    /// The author's struct; not there while it is being changed.
    state: Option<Box<dyn Any + Send>>,
    state_changed: bool,
    /// Which version of its code the run is pinned to, by place.
    versions: Versions,
}

struct Open {
    waker: Option<Waker>,
    told: Option<Recorded>,
    /// Whether it waits for the state to be so.
    watches: bool,
}

impl Inside {
    /// Whom to wake when the state has changed.
    fn watching(&self) -> Vec<Waker> {
        self.open.values().filter(|open| open.watches).filter_map(|open| open.waker.clone()).collect()
    }
}

/// Why a body goes no further.
#[derive(Debug)]
pub(super) enum Stop {
    /// An operation ended in a fault that the body does not catch.
    Fault(super::Fault),
    /// What is recorded cannot be read by this code: the operation and the reason.
    Unreadable(OpId, String),
    /// It goes on as a new generation, with these parameters.
    Continue(Bytes),
    /// The version that the run is pinned to is one that this code does not have.
    Unsupported(Unsupported),
}

/// What the body has done since the engine last looked.
#[derive(Default)]
pub(super) struct Moves {
    pub(super) asked: Vec<(OpId, Ask)>,
    pub(super) dropped: Vec<OpId>,
    /// Permits that it holds no more.
    pub(super) released: Vec<OpId>,
}

thread_local! {
    static CURRENT: RefCell<Option<Core>> = const { RefCell::new(None) };
}

impl Core {
    pub(super) fn new(key: Bytes, seed: u64, state: Box<dyn Any + Send>) -> Self {
        let inside = Inside { state: Some(state), ..Inside::default() };
        Self(Arc::new(Shared { key, seed, inside: Mutex::new(inside) }))
    }

    /// The run whose body is being polled on this thread.
    ///
    /// # Panics
    /// Outside of a workflow's body: there is no run that could remember what happens.
    pub(super) fn current() -> Self {
        let current = CURRENT.with(|current| current.borrow().clone());
        current.expect("`join!`, `select!` and `join_all` of drystone are for the body of a workflow")
    }

    /// Runs `poll` as the body of this run.
    pub(super) fn enter<T>(&self, poll: impl FnOnce() -> T) -> T {
        let _outer = Entered(CURRENT.with(|current| current.replace(Some(self.clone()))));
        poll()
    }

    /// Refuses whoever asks from elsewhere than the body: nothing would come of it, and a replay would not see it.
    ///
    /// # Panics
    /// Unless the body of this run is being polled, or dropped, on this thread.
    pub(super) fn must_be_polled(&self) {
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
    pub(super) fn with_versions<T>(&self, lend: impl FnOnce(&mut Versions) -> T) -> T {
        lend(&mut self.inside().versions)
    }

    pub(super) fn key(&self) -> &Bytes {
        &self.0.key
    }

    pub(super) fn now(&self) -> Millis {
        self.inside().now
    }

    pub(super) fn set_now(&self, now: Millis) {
        self.inside().now = now;
    }

    /// A number by chance that is the same in every replay.
    pub(super) fn random(&self) -> u64 {
        let id = self.identity(&Name::new("random"));
        stable_hash(&[&self.0.seed.to_be_bytes(), id.as_bytes()])
    }

    /// The next identity of this name in the branch that is being polled.
    pub(super) fn identity(&self, name: &Name) -> OpId {
        self.must_be_polled();
        let mut inside = self.inside();
        let branch = if Bug::OrdinalIds.planted() { "".into() } else { inside.branch.clone() };
        let count = inside.used.entry((branch.clone(), name.clone())).or_default();
        *count += 1;
        format!("{branch}{name}#{count}").into()
    }

    /// A branch for each arm of a combinator: its number in this branch, and the arm's.
    pub(super) fn fork(&self) -> impl Fn(usize) -> Arc<str> + use<> {
        let mut inside = self.inside();
        let branch = inside.branch.clone();
        let count = inside.used.entry((branch.clone(), Name::new(""))).or_default();
        *count += 1;
        let count = *count;
        move |arm| format!("{branch}{count}.{arm}/").into()
    }

    /// Runs `poll` in a branch.
    pub(super) fn within<T>(&self, branch: &Arc<str>, poll: impl FnOnce() -> T) -> T {
        let outer = std::mem::replace(&mut self.inside().branch, branch.clone());
        let _restored = Restored(self, outer);
        poll()
    }

    pub(super) fn set_branch(&self, branch: &str) {
        self.inside().branch = branch.into();
    }

    /// An operation is asked for, at its first poll.
    pub(super) fn ask(&self, id: &OpId, ask: Ask, waker: &Waker) {
        let mut inside = self.inside();
        let watches = matches!(ask, Ask::Until);
        inside.asked.push((id.clone(), ask));
        inside.open.insert(id.clone(), Open { waker: Some(waker.clone()), told: None, watches });
    }

    /// Tells an operation that was not asked for yet: a bug that can be planted.
    pub(super) fn tell_early(&self, id: &str, recorded: Recorded) {
        self.inside().open.insert(id.into(), Open { waker: None, told: Some(recorded), watches: false });
    }

    /// What an operation was told, if it was; else it is woken when it is.
    pub(super) fn look(&self, id: &OpId, waker: &Waker) -> Option<Recorded> {
        let mut inside = self.inside();
        let open = inside.open.get_mut(id)?;
        if open.told.is_none() {
            open.waker = Some(waker.clone());
            return None;
        }
        inside.open.remove(id).and_then(|open| open.told)
    }

    /// Tells an operation what has become of it; `false` if there is none of this identity.
    pub(super) fn tell(&self, id: &str, recorded: Recorded) -> bool {
        let mut inside = self.inside();
        let Some(open) = inside.open.get_mut(id) else { return false };
        open.told = Some(recorded);
        let waker = open.waker.take();
        drop(inside);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// An operation is let go before it has ended.
    pub(super) fn let_go(&self, id: &OpId) {
        let mut inside = self.inside();
        if inside.open.remove(id).is_some() {
            inside.dropped.push(id.clone());
        }
    }

    /// The body holds this permit no more.
    pub(super) fn release(&self, id: &OpId) {
        self.inside().released.push(id.clone());
    }

    pub(super) fn stop(&self, stop: Stop) {
        self.inside().stop.get_or_insert(stop);
    }

    pub(super) fn has_stop(&self) -> bool {
        self.inside().stop.is_some()
    }

    pub(super) fn take_stop(&self) -> Option<Stop> {
        self.inside().stop.take()
    }

    pub(super) fn take_moves(&self) -> Moves {
        let mut inside = self.inside();
        Moves {
            asked: std::mem::take(&mut inside.asked),
            dropped: std::mem::take(&mut inside.dropped),
            released: std::mem::take(&mut inside.released),
        }
    }

    /// Whether anything durable is outstanding.
    pub(super) fn waits(&self) -> bool {
        !self.inside().open.is_empty()
    }

    /// Lends the author's struct.
    ///
    /// # Panics
    /// If it is lent already: a change within a change.
    pub(super) fn with_state<W: 'static, T>(&self, change: bool, lend: impl FnOnce(&mut W) -> T) -> T {
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

    /// Whether the state was changed since this was asked.
    pub(super) fn take_state_changed(&self) -> bool {
        std::mem::take(&mut self.inside().state_changed)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run that was current before.
struct Entered(Option<Core>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// The branch that was polled before: also if the arm panics.
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
