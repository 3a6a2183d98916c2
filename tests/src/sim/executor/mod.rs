//! One thread, one seed: which task goes on next is drawn, and time moves when nothing can (the world's one
//! scheduler; kernels, stores, clients and the nemesis are all tasks of it).
//!
//! Tasks belong to groups. A group is a process: it can be killed, which drops all its tasks at once, or
//! frozen, which leaves them unpolled for a while. Each group has a wall clock of its own; there is one
//! monotonic time, which the wall clocks' jumps do not touch.
//!
//! Futures are dropped between polls only, never under a lock: their drop code may wake, spawn and stop.

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
use super::chance::{Chance, mix};

/// The executor. Clones are the same one.
#[derive(Clone)]
pub struct Executor(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Apart from the rest, so that a waker needs no other lock. Made runnable in this order.
    ready: Mutex<Vec<TaskId>>,
}

struct State {
    tasks: Tasks,
    groups: Groups,
    clock: Clock,
    chance: Chance,
    pace: Pace,
    current: Option<TaskId>,
    /// Dropped by the loop, between polls.
    graveyard: Vec<Task>,
    steps: u64,
    hash: u64,
    /// How often the clock was read in this poll.
    reads: u32,
}

/// No loop reads the clock this often without waiting for anything.
const READS_MAX: u32 = 100_000;

/// How time passes while tasks are runnable, and what becomes of stopped ones.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// In so many of a thousand polls, time moves on by up to two milliseconds.
    pub tick_permille: u32,
    /// So many of a thousand tasks that are stopped while runnable are polled once more: another thread was
    /// already in them.
    pub late_stop_permille: u32,
}

/// Why a run of the executor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The predicate said so.
    Finished,
    /// Nothing is runnable and nothing sleeps.
    Idle,
    /// More polls than allowed: something spins. The last one's name.
    Spinning(&'static str),
    /// A task panicked: its name, and what it said.
    Panicked(&'static str, String),
}

impl Executor {
    /// An executor whose every choice comes from `chance`.
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

    /// Runs until `finished`, which is asked between polls.
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

    /// Starts a task in a group; in a dead one it is dropped.
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

    /// Stops a task: it is dropped before its next poll, or after it if it is in one.
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

    /// Drops every task there is, so that nothing outlives its history.
    pub fn clear(&self) {
        let mut state = self.state();
        let State { tasks, graveyard, .. } = &mut *state;
        tasks.remove_all(graveyard);
        state.clock.clear();
        drop(state);
        self.bury();
    }

    /// A new process, alive.
    pub fn group(&self) -> Group {
        self.state().groups.add()
    }

    /// Whether a process was not killed.
    pub fn alive(&self, group: Group) -> bool {
        self.state().groups.alive(group)
    }

    /// Leaves a process unpolled for so long.
    pub fn freeze(&self, group: Group, span: Duration) {
        let mut state = self.state();
        let until = state.clock.monotonic + span;
        state.groups.freeze(group, until);
    }

    /// Leaves one of a process's threads, drawn, unpolled for so long; its name.
    pub fn freeze_thread(&self, group: Group, span: Duration) -> Option<&'static str> {
        let mut state = self.state();
        let until = state.clock.monotonic + span;
        let State { tasks, chance, .. } = &mut *state;
        tasks.freeze_one(group, until, chance)
    }

    /// Ends every freeze.
    pub fn thaw(&self) {
        let mut state = self.state();
        state.groups.thaw();
        state.tasks.thaw();
    }

    /// Moves a process's wall clock.
    pub fn jump(&self, group: Group, by_ms: i64) {
        self.state().groups.jump(group, by_ms);
    }

    /// A process's wall clock.
    pub fn wall(&self, group: Group) -> Millis {
        let state = self.state();
        Millis(state.clock.wall_ms() + state.groups.offset_ms(group))
    }

    /// How far a process's wall clock is ahead of an honest one.
    pub fn offset_ms(&self, group: Group) -> i64 {
        self.state().groups.offset_ms(group)
    }

    /// The latest that anyone may believe it is: the furthest clock there ever was, carried on.
    pub fn latest_wall(&self) -> Millis {
        let state = self.state();
        Millis(state.clock.wall_ms() + state.groups.furthest_ms)
    }

    /// The time that only moves on.
    pub fn monotonic(&self) -> Duration {
        self.state().clock.monotonic
    }

    /// The same, for a process. One that asks without end in one poll would hang the simulator: it panics.
    pub fn monotonic_of_process(&self) -> Duration {
        let mut state = self.state();
        state.reads += 1;
        let (spins, now) = (state.reads > READS_MAX, state.clock.monotonic);
        drop(state);
        assert!(!spins, "it spins: it read the clock {READS_MAX} times in one poll");
        now
    }

    /// Ready when [`monotonic`](Self::monotonic) has reached `at`.
    pub fn sleep_until(&self, at: Duration) -> Sleep {
        Sleep::new(self.clone(), at)
    }

    /// Ready after `span`.
    pub fn sleep(&self, span: Duration) -> Sleep {
        self.sleep_until(self.monotonic() + span)
    }

    /// What comes out within `span`, if anything does.
    pub async fn within<T>(&self, span: Duration, future: impl Future<Output = T>) -> Option<T> {
        let (mut future, mut late) = (pin!(future), pin!(self.sleep(span)));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => late.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Draws from the schedule's own chance.
    pub fn random(&self) -> u64 {
        self.state().chance.bits()
    }

    /// The task that is being polled.
    pub fn current(&self) -> Option<TaskId> {
        self.state().current
    }

    /// Whether a task is there and was not stopped.
    pub fn running(&self, id: TaskId) -> bool {
        self.state().tasks.running(id)
    }

    /// Mixes something that happened into the hash of this history.
    pub fn mark(&self, value: u64) {
        let mut state = self.state();
        state.hash = mix(state.hash ^ value);
    }

    /// The hash of everything that happened: equal for equal histories.
    pub fn hash(&self) -> u64 {
        self.state().hash
    }

    /// How many polls there were.
    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, Vec<TaskId>> {
        self.0.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what was killed, outside of every lock, until dropping kills nothing more.
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
            Err(_) => (true, Some(End::Panicked(name, super::panics::last()))),
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

    /// Takes a runnable task out to poll it; `None` if it is gone, stopped or frozen.
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
    /// Polls take no time here, which no real machine does: now and then a little passes.
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
