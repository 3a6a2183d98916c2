//! A deterministic executor: one thread at a time, and no randomness. Tasks run in the order in which they
//! were woken, and time moves by hand.
//!
//! The executor has no thread of its own. A task that awaits something of the world runs the world, on the
//! thread and in the runtime of the test. So while the test's own code runs, the world stands still; and
//! while the world runs, the test waits.
//!
//! Tasks belong to processes, which can be killed or frozen. Futures are dropped between polls and never
//! under the lock, because their drop code may wake, spawn and stop tasks.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Wake, Waker},
    time::Duration,
};

use drystone_runtime::{
    Millis,
    driver::{Handle, Task},
};

use super::{driver::WorldDriver, running::Running, sleep::Sleepers};

/// The time at which every world begins: a day in 2023.
const START_MS: i64 = 1_700_000_000_000;

/// The default limit of polls at one moment. With more polls, code is probably spinning.
const POLLS_MAX: u64 = 1_000_000;

/// The name of tasks that run author code.
const WORK: &str = "work";

/// A process, whose tasks live and die together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(u32);

/// The executor below a world: tasks, processes and time. Clones share one executor.
///
/// Tests of an app use [`World`](crate::testing::World). This type is for tests of the layers below.
#[derive(Clone, Default)]
pub struct Executor(Arc<Mutex<State>>);

#[derive(Default)]
pub(in crate::testing) struct State {
    pub(in crate::testing) tasks: BTreeMap<u64, Slot>,
    pub(in crate::testing) ready: VecDeque<u64>,
    pub(in crate::testing) sleepers: Sleepers,
    alive: BTreeSet<Process>,
    frozen: BTreeSet<Process>,
    /// The process and the name of the task that is being polled.
    pub(in crate::testing) current: Option<(Process, Arc<str>)>,
    pub(in crate::testing) monotonic: Duration,
    wall_jump_ms: i64,
    numbers: u64,
    pub(in crate::testing) graveyard: Vec<Task>,
    /// Whether a task runs the world at the moment.
    pub(in crate::testing) is_running: bool,
    /// Whether another task wants to run the world, too.
    pub(in crate::testing) is_wanted: bool,
    /// The tasks outside that will run the world when there is something to run.
    waiting: Vec<Waker>,
    /// The tasks outside with answers to read. They are woken when nothing is left to do.
    pub(in crate::testing) told: Vec<Waker>,
    /// The number of polls so far.
    pub(in crate::testing) polls: u64,
    /// The number of polls when time last moved, or when a task outside last asked for something.
    polls_before: u64,
    /// The limit of polls at one moment, if it is not the default.
    polls_max: Option<u64>,
}

pub(in crate::testing) struct Slot {
    pub(in crate::testing) process: Process,
    pub(in crate::testing) name: Arc<str>,
    /// The task; `None` during a poll.
    pub(in crate::testing) task: Option<Task>,
    pub(in crate::testing) is_queued: bool,
}

impl Executor {
    /// Runs everything that can run while time stands still. Does nothing if the world runs already.
    pub fn settle(&self) {
        if let Some(running) = self.run() {
            running.settle();
        }
    }

    /// Lets time pass, from one sleeper to the next, until `span` is over and nothing is left to do.
    pub fn advance(&self, span: Duration) {
        let until = self.monotonic() + span;
        let Some(running) = self.run() else { return };
        running.settle();
        while running.step(until) {
            running.settle();
        }
    }

    /// Makes a new process.
    pub fn process(&self) -> Process {
        let mut state = self.state();
        let process = Process(state.number() as u32);
        state.alive.insert(process);
        process
    }

    /// Returns the driver of a process.
    pub fn driver(&self, process: Process) -> WorldDriver {
        WorldDriver::new(self.clone(), process)
    }

    /// Starts a task. Dropping the handle drops the task. In a dead process the task is dropped at once.
    pub fn spawn(&self, process: Process, task: Task) -> Handle {
        self.spawn_named(process, WORK, task)
    }

    pub(in crate::testing) fn spawn_named(&self, process: Process, name: &str, task: Task) -> Handle {
        let mut state = self.state();
        if !state.alive.contains(&process) {
            state.graveyard.push(task);
            return Handle::new(|| {});
        }
        let id = state.number();
        state.tasks.insert(id, Slot { process, name: name.into(), task: Some(task), is_queued: true });
        state.ready.push_back(id);
        call_up(state);
        let executor = self.clone();
        Handle::new(move || executor.stop(id))
    }

    /// Kills a process: none of its tasks is polled again.
    pub fn kill(&self, process: Process) {
        let mut state = self.state();
        state.alive.remove(&process);
        let doomed: Vec<u64> =
            state.tasks.iter().filter(|(_, slot)| slot.process == process).map(|(id, _)| *id).collect();
        for id in doomed {
            let task = state.tasks.remove(&id).and_then(|slot| slot.task);
            state.graveyard.extend(task);
        }
    }

    /// Kills the process whose task is being polled.
    pub fn kill_current(&self) {
        let current = self.current();
        if let Some(process) = current {
            self.kill(process);
        }
    }

    /// Whether the task that is being polled belongs to a process that was killed.
    pub fn current_is_dead(&self) -> bool {
        self.current().is_some_and(|process| !self.is_alive(process))
    }

    fn current(&self) -> Option<Process> {
        self.state().current.as_ref().map(|(process, _)| *process)
    }

    /// Whether a process is alive.
    pub fn is_alive(&self, process: Process) -> bool {
        self.state().alive.contains(&process)
    }

    /// Stops polling a process, or polls it again.
    pub fn freeze(&self, process: Process, frozen: bool) {
        let mut state = self.state();
        if frozen {
            state.frozen.insert(process);
        } else {
            state.frozen.remove(&process);
        }
    }

    /// Moves the wall clock, without moving monotonic time.
    pub fn jump(&self, by_ms: i64) {
        self.state().wall_jump_ms += by_ms;
    }

    /// Returns the time on the wall clock.
    pub fn wall(&self) -> Millis {
        let state = self.state();
        Millis(START_MS + state.wall_jump_ms).after(state.monotonic)
    }

    /// Returns the time since the world began.
    pub fn monotonic(&self) -> Duration {
        self.state().monotonic
    }

    /// Sets the limit of polls at one moment, beyond which the moment is taken for one that never ends.
    pub(in crate::testing) fn set_polls_max(&self, polls_max: u64) {
        self.state().polls_max = Some(polls_max);
    }

    /// Drops every task.
    pub fn clear(&self) {
        let mut state = self.state();
        let tasks = std::mem::take(&mut state.tasks);
        state.alive.clear();
        state.graveyard.extend(tasks.into_values().filter_map(|slot| slot.task));
        drop(state);
        self.bury();
    }

    /// Returns the right to run the world, or `None` if another task has it.
    pub(in crate::testing) fn run(&self) -> Option<Running<'_>> {
        let mut state = self.state();
        let is_free = !std::mem::replace(&mut state.is_running, true);
        state.is_wanted |= !is_free;
        is_free.then(|| Running(self))
    }

    /// Registers a task that will run the world when there is something to run. Callers register before they
    /// look, so that no wake-up in between is lost.
    pub(in crate::testing) fn wait(&self, waker: &Waker) {
        let mut state = self.state();
        if !state.waiting.iter().any(|known| known.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
    }

    /// Ends the sleep of a thread early.
    pub(in crate::testing) fn rouse(&self, name: &str) {
        let wakers = self.state().sleepers.rouse(name);
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(in crate::testing) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self, id: u64) {
        let mut state = self.state();
        let task = state.tasks.remove(&id).and_then(|slot| slot.task);
        state.graveyard.extend(task);
    }

    pub(in crate::testing) fn bury(&self) {
        loop {
            let dead = std::mem::take(&mut self.state().graveyard);
            if dead.is_empty() {
                return;
            }
            drop(dead);
        }
    }

    pub(in crate::testing) fn poll(&self, id: u64) {
        let mut state = self.state();
        let Some(slot) = state.tasks.get_mut(&id) else { return };
        slot.is_queued = false;
        let current = (slot.process, slot.name.clone());
        let Some(mut task) = slot.task.take() else { return };
        state.current = Some(current);
        state.polls += 1;
        drop(state);
        let waker = Waker::from(Arc::new(Alarm { state: Arc::downgrade(&self.0), id }));
        let ended = task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        let mut state = self.state();
        state.current = None;
        match state.tasks.get_mut(&id) {
            Some(slot) if !ended => slot.task = Some(task),
            _ => {
                state.tasks.remove(&id);
                state.graveyard.push(task);
            }
        }
    }
}

impl State {
    pub(in crate::testing) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Begins a new moment: polls are counted from here.
    pub(in crate::testing) fn begin_moment(&mut self) {
        self.polls_before = self.polls;
    }

    /// Returns how many polls this moment has had, and how many it may have.
    pub(in crate::testing) fn polls_of_moment(&self) -> (u64, u64) {
        (self.polls - self.polls_before, self.polls_max.unwrap_or(POLLS_MAX))
    }

    /// Whether author code is running.
    pub(in crate::testing) fn has_work(&self) -> bool {
        self.tasks.values().any(|slot| &*slot.name == WORK)
    }

    /// Returns the place of the first task that may run.
    pub(in crate::testing) fn next_ready(&self) -> Option<usize> {
        let may_run = |id: &u64| self.tasks.get(id).is_none_or(|slot| !self.frozen.contains(&slot.process));
        self.ready.iter().position(may_run)
    }
}

/// Wakes the tasks that wait to run the world, unless the world runs already.
pub(in crate::testing) fn call_up(mut state: MutexGuard<'_, State>) {
    let waiting = if state.is_running { Vec::new() } else { std::mem::take(&mut state.waiting) };
    // Wakers run foreign code, so they must not be called under the lock.
    drop(state);
    waiting.into_iter().for_each(Waker::wake);
}

struct Alarm {
    state: Weak<Mutex<State>>,
    id: u64,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        let Some(state) = self.state.upgrade() else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { tasks, ready, .. } = &mut *state;
        if let Some(slot) = tasks.get_mut(&self.id).filter(|slot| !slot.is_queued) {
            slot.is_queued = true;
            ready.push_back(self.id);
            call_up(state);
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Executor").field("now", &self.wall()).finish_non_exhaustive()
    }
}
