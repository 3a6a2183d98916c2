//! A deterministic executor on a single thread. The next task to poll is drawn at random, and time jumps to
//! the next sleeper when no task can run. All of a history runs here: kernels, stores, callers and the
//! nemesis.
//!
//! Tasks belong to groups. A group is a process: it can be killed, which drops all its tasks at once, or
//! frozen, which leaves them unpolled for a while. Each group has its own wall clock. The monotonic time is
//! common to all groups, and jumps of wall clocks do not change it.
//!
//! Futures are dropped only between polls and never under a lock, because their drop code may wake, spawn
//! and stop tasks.

mod clock;
mod group;
mod task;

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use drystone_runtime::{Millis, driver::Task};
use serde::{Deserialize, Serialize};

use self::{clock::Clock, group::Groups, task::Tasks};
pub use self::{clock::Sleep, group::Group, task::TaskId};
use crate::sim::drawing::random::{Chance, mix};

/// A handle of the executor. Clones share the same executor.
#[derive(Clone)]
pub struct Executor(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// The runnable tasks, in the order in which they were woken. A separate lock, because a waker may run
    /// while the state is locked.
    ready: Mutex<Vec<TaskId>>,
}

struct State {
    tasks: Tasks,
    groups: Groups,
    clock: Clock,
    chance: Chance,
    pace: Pace,
    current: Option<TaskId>,
    /// Tasks to drop between polls.
    graveyard: Vec<Task>,
    steps: u64,
    hash: u64,
    /// The number of clock reads in the current poll.
    reads: u32,
}

/// The limit of clock reads in one poll. A loop that reads the clock more often without waiting is stuck.
const READS_MAX: u32 = 100_000;

/// How time passes while tasks are runnable, and how stopped tasks end.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// In how many of a thousand polls time moves on, by up to two milliseconds.
    pub tick_permille: u32,
    /// How many of a thousand tasks that are stopped while runnable are polled once more, as if another
    /// thread had already begun to poll them.
    pub late_stop_permille: u32,
}

/// The reason why a run of the executor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The predicate returned `true`.
    Finished,
    /// No task is runnable, and none sleeps.
    Idle,
    /// The limit of polls was exceeded: a task spins. Contains the name of the last task polled.
    Spinning(&'static str),
    /// A task panicked. Contains its name and the message.
    Panicked(&'static str, String),
}

impl Executor {
    /// Creates an executor that draws all its choices from `chance`.
    pub fn new(chance: Chance, pace: Pace) -> Self {
        let state = State {
            tasks: Tasks::default(),
            groups: Groups::default(),
            clock: Clock::default(),
            chance,
            pace,
            current: None,
            graveyard: Vec::new(),
            steps: 0,
            hash: 0,
            reads: 0,
        };
        Self(Arc::new(Shared { state: Mutex::new(state), ready: Mutex::default() }))
    }

    /// Runs until `finished` returns `true`. It is called between polls.
    pub fn run(&self, steps_max: u64, finished: impl Fn() -> bool) -> End {
        loop {
            self.bury();
            if finished() {
                return End::Finished;
            }
            let Some(id) = self.draw() else {
                match self.skip_to_next_sleeper() {
                    true => continue,
                    false => return End::Idle,
                }
            };
            if let Some(end) = self.poll(id, steps_max) {
                return end;
            }
        }
    }

    /// Starts a task in a group. If the group is dead, the task is dropped.
    pub fn spawn(&self, group: Group, name: &'static str, task: Task) -> Option<TaskId> {
        let mut state = self.state();
        if !state.groups.alive(group) {
            state.graveyard.push(task);
            return None;
        }
        let id = state.tasks.insert(group, name, task, &self.0);
        drop(state);
        self.ready().push(id);
        Some(id)
    }

    /// Stops a task: it is dropped before its next poll, or after the current one.
    pub fn stop(&self, id: TaskId) {
        let mut state = self.state();
        let late = state.pace.late_stop_permille;
        let late = state.chance.permille(late);
        let runnable = state.tasks.doom(id, late);
        drop(state);
        if runnable == Some(false) {
            self.ready().push(id);
        }
    }

    /// Kills a process: its tasks are never polled again.
    pub fn kill(&self, group: Group) {
        let mut state = self.state();
        state.groups.kill(group);
        let State { tasks, graveyard, .. } = &mut *state;
        tasks.remove_group(group, graveyard);
    }

    /// Drops all tasks at the end of a history.
    pub fn clear(&self) {
        let mut state = self.state();
        let State { tasks, graveyard, .. } = &mut *state;
        tasks.remove_all(graveyard);
        state.clock.clear();
        drop(state);
        self.bury();
    }

    /// Creates a process, which is alive.
    pub fn group(&self) -> Group {
        self.state().groups.add()
    }

    /// Whether a process is alive, that is, was not killed.
    pub fn alive(&self, group: Group) -> bool {
        self.state().groups.alive(group)
    }

    /// Leaves a process unpolled for this long.
    pub fn freeze(&self, group: Group, span: Duration) {
        let mut state = self.state();
        let until = state.clock.monotonic + span;
        state.groups.freeze(group, until);
    }

    /// Leaves a random thread of a process unpolled for this long, and returns the thread's name.
    pub fn freeze_thread(&self, group: Group, span: Duration) -> Option<&'static str> {
        let mut state = self.state();
        let until = state.clock.monotonic + span;
        let State { tasks, chance, .. } = &mut *state;
        tasks.freeze_one(group, until, chance)
    }

    /// Ends all freezes.
    pub fn thaw(&self) {
        let mut state = self.state();
        state.groups.thaw();
        state.tasks.thaw();
    }

    /// Moves the wall clock of a process.
    pub fn jump(&self, group: Group, by_ms: i64) {
        self.state().groups.jump(group, by_ms);
    }

    /// The wall clock of a process.
    pub fn wall(&self, group: Group) -> Millis {
        let state = self.state();
        Millis(state.clock.wall_ms() + state.groups.offset_ms(group))
    }

    /// How far the wall clock of a process is ahead of an honest one.
    pub fn offset_ms(&self, group: Group) -> i64 {
        self.state().groups.offset_ms(group)
    }

    /// The latest time that any process may believe: the clock that was ever furthest ahead, carried on to
    /// the present.
    pub fn latest_wall(&self) -> Millis {
        let state = self.state();
        Millis(state.clock.wall_ms() + state.groups.furthest_ms)
    }

    /// The monotonic time.
    pub fn monotonic(&self) -> Duration {
        self.state().clock.monotonic
    }

    /// The monotonic time, for the code of a process. Panics if one poll reads it too often, because such a
    /// loop would hang the simulator.
    pub fn monotonic_of_process(&self) -> Duration {
        let mut state = self.state();
        state.reads += 1;
        let (spins, now) = (state.reads > READS_MAX, state.clock.monotonic);
        drop(state);
        assert!(!spins, "it spins: it read the clock {READS_MAX} times in one poll");
        now
    }

    /// Completes when [`monotonic`](Self::monotonic) has reached `at`.
    pub fn sleep_until(&self, at: Duration) -> Sleep {
        Sleep::new(self.clone(), at)
    }

    /// Completes after `span`.
    pub fn sleep(&self, span: Duration) -> Sleep {
        self.sleep_until(self.monotonic() + span)
    }

    /// Waits for the future for `span` at most. Returns `None` on a timeout.
    pub async fn within<T>(&self, span: Duration, future: impl Future<Output = T>) -> Option<T> {
        let (mut future, mut late) = (pin!(future), pin!(self.sleep(span)));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => late.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Returns random bits from the stream that also decides the order of tasks.
    pub fn random(&self) -> u64 {
        self.state().chance.bits()
    }

    /// The task that is being polled.
    pub fn current(&self) -> Option<TaskId> {
        self.state().current
    }

    /// Whether a task exists and was not stopped.
    pub fn running(&self, id: TaskId) -> bool {
        self.state().tasks.running(id)
    }

    /// Mixes a value into the hash of this history.
    pub fn mark(&self, value: u64) {
        let mut state = self.state();
        state.hash = mix(state.hash ^ value);
    }

    /// The hash of everything that happened. Equal histories have equal hashes.
    pub fn hash(&self) -> u64 {
        self.state().hash
    }

    /// The number of polls so far.
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, Vec<TaskId>> {
        self.0.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops killed tasks outside of every lock, and repeats that until their drop code kills no more
    /// tasks.
    fn bury(&self) {
        loop {
            let dead = std::mem::take(&mut self.state().graveyard);
            if dead.is_empty() {
                return;
            }
            drop(dead);
        }
    }

    fn draw(&self) -> Option<TaskId> {
        let mut ready = self.ready();
        if ready.is_empty() {
            return None;
        }
        let place = self.state().chance.index(ready.len());
        Some(ready.swap_remove(place))
    }

    fn skip_to_next_sleeper(&self) -> bool {
        let mut state = self.state();
        let Some(at) = state.clock.next() else { return false };
        let woken = state.clock.advance(at);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        true
    }

    fn poll(&self, id: TaskId, steps_max: u64) -> Option<End> {
        let (mut task, waker, name) = self.take(id)?;
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut Context::from_waker(&waker))));
        let (ended, panicked) = match polled {
            Ok(poll) => (poll == Poll::Ready(()), None),
            Err(_) => (true, Some(End::Panicked(name, crate::sim::faults::panics::last()))),
        };
        let mut state = self.state();
        state.current = None;
        let State { tasks, graveyard, .. } = &mut *state;
        tasks.put_back(id, task, ended, graveyard);
        let spinning = state.steps > steps_max;
        let woken = state.pass_time();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        panicked.or(spinning.then_some(End::Spinning(name)))
    }

    /// Takes a runnable task out for a poll. Returns `None` if the task is gone, stopped or frozen.
    fn take(&self, id: TaskId) -> Option<(Task, Waker, &'static str)> {
        let mut state = self.state();
        let State { tasks, groups, clock, graveyard, .. } = &mut *state;
        let frozen = tasks.frozen_until(id)?.max(groups.frozen_until(tasks.group(id)));
        if frozen > clock.monotonic {
            tasks.unqueue(id);
            clock.wake_at(frozen, tasks.waker(id));
            return None;
        }
        let taken = tasks.take(id, graveyard)?;
        state.current = Some(id);
        state.steps += 1;
        state.reads = 0;
        state.hash = mix(state.hash ^ id.mark() ^ state.clock.monotonic.as_micros() as u64);
        Some(taken)
    }
}

impl State {
    /// Lets a little time pass now and then. On a real machine every poll takes time; here polls take none.
    fn pass_time(&mut self) -> Vec<Waker> {
        if !self.chance.permille(self.pace.tick_permille) {
            return Vec::new();
        }
        let passed = Duration::from_micros(self.chance.between(1, 2_000));
        self.clock.advance(self.clock.monotonic + passed)
    }
}

#[cfg(test)]
mod tests;
