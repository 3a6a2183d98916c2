//! One thread, no chance: tasks run in the order in which they were woken; time moves by hand.
//!
//! Tasks belong to processes, which can be killed or frozen. Futures are dropped between polls and never under
//! the lock: their drop code may wake, spawn and stop.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use drystone_runtime::{
    Driver, Millis,
    driver::{Handle, Task},
};

/// No settling needs more polls than this: something spins.
const POLLS_MAX: usize = 2_000_000;

/// Where every world begins: some day in 2023.
const START_MS: i64 = 1_700_000_000_000;

/// A process: its tasks live and die together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process(u32);

/// The executor. Clones are the same one.
#[derive(Clone, Default)]
pub struct Executor(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    tasks: BTreeMap<u64, Slot>,
    ready: VecDeque<u64>,
    sleepers: BTreeMap<(Duration, u64), Waker>,
    alive: BTreeSet<Process>,
    frozen: BTreeSet<Process>,
    current: Option<Process>,
    monotonic: Duration,
    wall_jump_ms: i64,
    numbers: u64,
    graveyard: Vec<Task>,
}

struct Slot {
    process: Process,
    /// `None` while it is polled.
    task: Option<Task>,
    is_queued: bool,
}

impl Executor {
    /// Runs everything that can run; time stands.
    pub fn settle(&self) {
        for _ in 0..POLLS_MAX {
            self.bury();
            let Some(id) = self.next_ready() else { return };
            self.poll(id);
        }
        panic!("it spins: {POLLS_MAX} polls and no end");
    }

    /// Lets time pass, from one sleeper to the next, until `span` is over and nothing is left to do.
    pub fn advance(&self, span: Duration) {
        let until = self.state().monotonic + span;
        loop {
            self.settle();
            let mut state = self.state();
            let Some((&(at, number), _)) = state.sleepers.first_key_value().filter(|((at, _), _)| *at <= until) else {
                state.monotonic = until;
                return;
            };
            state.monotonic = state.monotonic.max(at);
            let waker = state.sleepers.remove(&(at, number));
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// A new process.
    pub fn process(&self) -> Process {
        let mut state = self.state();
        let process = Process(state.number() as u32);
        state.alive.insert(process);
        process
    }

    /// The world as a process sees it.
    pub fn driver(&self, process: Process) -> WorldDriver {
        WorldDriver { executor: self.clone(), process }
    }

    /// Starts a task; dropping the handle drops the task. In a dead process it is dropped at once.
    pub fn spawn(&self, process: Process, task: Task) -> Handle {
        let mut state = self.state();
        if !state.alive.contains(&process) {
            state.graveyard.push(task);
            return Handle::new(|| {});
        }
        let id = state.number();
        state.tasks.insert(id, Slot { process, task: Some(task), is_queued: true });
        state.ready.push_back(id);
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
        let current = self.state().current;
        if let Some(process) = current {
            self.kill(process);
        }
    }

    /// Whether the task that is being polled belongs to a process that was killed.
    pub fn current_is_dead(&self) -> bool {
        let state = self.state();
        state.current.is_some_and(|process| !state.alive.contains(&process))
    }

    /// Whether a process was not killed.
    pub fn is_alive(&self, process: Process) -> bool {
        self.state().alive.contains(&process)
    }

    /// Leaves a process unpolled, or polls it again.
    pub fn freeze(&self, process: Process, frozen: bool) {
        let mut state = self.state();
        if frozen {
            state.frozen.insert(process);
        } else {
            state.frozen.remove(&process);
        }
    }

    /// Moves the wall clock; monotonic time does not notice.
    pub fn jump(&self, by_ms: i64) {
        self.state().wall_jump_ms += by_ms;
    }

    /// The wall clock.
    pub fn wall(&self) -> Millis {
        let state = self.state();
        Millis(START_MS + state.wall_jump_ms).after(state.monotonic)
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self, id: u64) {
        let mut state = self.state();
        let task = state.tasks.remove(&id).and_then(|slot| slot.task);
        state.graveyard.extend(task);
    }

    fn bury(&self) {
        loop {
            let dead = std::mem::take(&mut self.state().graveyard);
            if dead.is_empty() {
                return;
            }
            drop(dead);
        }
    }

    fn next_ready(&self) -> Option<u64> {
        let mut state = self.state();
        let State { tasks, ready, frozen, .. } = &mut *state;
        let may_run = |id: &u64| tasks.get(id).is_none_or(|slot| !frozen.contains(&slot.process));
        let place = ready.iter().position(may_run)?;
        ready.remove(place)
    }

    fn poll(&self, id: u64) {
        let mut state = self.state();
        let Some(slot) = state.tasks.get_mut(&id) else { return };
        slot.is_queued = false;
        let process = slot.process;
        let Some(mut task) = slot.task.take() else { return };
        state.current = Some(process);
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
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
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
        }
    }
}

/// Time and tasks for one process.
pub struct WorldDriver {
    executor: Executor,
    process: Process,
}

impl Driver for WorldDriver {
    fn spawn(&self, task: Task) -> Handle {
        self.executor.spawn(self.process, task)
    }

    fn thread(&self, _: &str, task: Task) {
        // A thread goes on when nobody holds it.
        std::mem::forget(self.executor.spawn(self.process, task));
    }

    fn sleep_until(&self, at: Duration) -> Task {
        Box::pin(Sleep { executor: self.executor.clone(), at, number: None })
    }

    fn now(&self) -> Millis {
        self.executor.wall()
    }

    fn monotonic(&self) -> Duration {
        self.executor.state().monotonic
    }

    fn random(&self) -> u64 {
        self.executor.state().number().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

struct Sleep {
    executor: Executor,
    at: Duration,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let executor = self.executor.clone();
        let mut state = executor.state();
        if state.monotonic >= self.at {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| state.number());
        state.sleepers.insert((self.at, number), context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.executor.state().sleepers.remove(&(self.at, number));
        }
    }
}
