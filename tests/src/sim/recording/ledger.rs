//! The ledger of running code and waiting callers, as both report themselves.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use drystone_runtime::{Borrow, Cx, Key, Work};

use super::log::{Class, lock};
use crate::sim::{apps::queues::queueing::Rules, handlers::Stage, running::executor::TaskId};

/// The code that runs, the callers inside a line, and the calls without an answer yet.
#[derive(Default)]
pub struct Ledger {
    running: Arc<Mutex<Vec<Running>>>,
    numbered: Mutex<u64>,
    inside: Mutex<Vec<(Key, u64)>>,
    dropped: Mutex<Vec<(Key, String, u32)>>,
    asking: Mutex<BTreeMap<u64, (Key, &'static str)>>,
}

struct Running {
    number: u64,
    process: usize,
    key: Key,
    work: String,
    exclusive: bool,
    task: Option<TaskId>,
}

/// A guard: while it lives, its code counts as running.
pub struct Entered {
    number: u64,
    running: Arc<Mutex<Vec<Running>>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        lock(&self.running).retain(|one| one.number != self.number);
    }
}

impl Ledger {
    /// Registers code that begins, and checks that an entity runs at most one piece of exclusive code per
    /// process (E3).
    pub fn enter(&self, stage: &Stage, cx: &Cx, work: &Work) -> Entered {
        let exclusive = work.borrow == Borrow::Exclusive;
        let executor = &stage.world.executor;
        let mut running = lock(&self.running);
        // Code that was stopped may still be in its last poll on another thread; it does not count.
        let counts = |task: Option<TaskId>| task.is_some_and(|task| executor.running(task));
        let other = running.iter().find(|one| {
            let same = one.process == stage.process && one.key == cx.key && (one.exclusive && exclusive);
            same && counts(one.task) && counts(executor.current())
        });
        if let Some(other) = other {
            let message = format!("{} and {} of {} run at once in k{}", other.work, cx.work, cx.key, stage.process);
            stage.world.chronicle.violation(Class::Broken, "E3", message);
        }
        let number = self.number();
        let (process, key, work) = (stage.process, cx.key.clone(), cx.work.to_string());
        running.push(Running { number, process, key, work, exclusive, task: executor.current() });
        Entered { number, running: self.running.clone() }
    }

    /// Checks that a queue runs at most as many items at once in this process as its `concurrency` allows
    /// (Q2).
    pub fn check_items(&self, stage: &Stage, cx: &Cx) {
        let role = stage.world.cast.member(stage.number(cx)).role;
        let executor = &stage.world.executor;
        let counts = |task: Option<TaskId>| task.is_some_and(|task| executor.running(task));
        if !role.is_queue() || !counts(executor.current()) {
            return;
        }
        let is_item =
            |one: &&Running| one.work.contains("process/") && one.process == stage.process && one.key == cx.key;
        let running = lock(&self.running);
        let items: Vec<_> =
            running.iter().filter(is_item).filter(|one| counts(one.task)).map(|one| &one.work).collect();
        stage.world.chronicle.check(items.len() <= Rules::of(role).concurrency, Class::Broken, "Q2", || {
            format!("{items:?} of {} run at once", cx.key)
        });
    }

    /// Whether this piece of the entity's work runs in this process.
    pub fn runs(&self, stage: &Stage, key: &Key, work: &str) -> bool {
        let executor = &stage.world.executor;
        let counts = |task: Option<TaskId>| task.is_some_and(|task| executor.running(task));
        let is_it = |one: &Running| one.process == stage.process && one.key == *key && one.work == work;
        lock(&self.running).iter().any(|one| is_it(one) && counts(one.task))
    }

    /// Notes the end of code whose task was stopped before its last poll: the work ended after it was
    /// dropped.
    pub fn ends(&self, stage: &Stage, cx: &Cx) {
        let executor = &stage.world.executor;
        if executor.current().is_some_and(|task| !executor.running(task)) {
            stage.world.chronicle.sometimes("a piece of work ended after it was dropped");
            lock(&self.dropped).push((cx.key.clone(), cx.work.to_string(), cx.attempt));
        }
    }

    /// Whether the attempt was dropped before the end.
    pub fn was_dropped(&self, key: &Key, work: &str, attempt: u32) -> bool {
        lock(&self.dropped).iter().any(|(of, dropped, tried)| of == key && dropped == work && *tried == attempt)
    }

    /// Registers a caller that was let into a line. Returns another caller that is inside at the same time,
    /// which is a violation.
    pub fn let_in(&self, line: &Key, number: u64) -> Option<u64> {
        let mut inside = lock(&self.inside);
        let other = inside.iter().find(|(key, _)| key == line).map(|(_, other)| *other);
        inside.push((line.clone(), number));
        other
    }

    /// Registers that a caller leaves a line.
    pub fn left(&self, number: u64) {
        lock(&self.inside).retain(|(_, inside)| *inside != number);
    }

    /// Registers a caller's call under this number.
    pub fn asks(&self, number: u64, key: &Key, verb: &'static str) {
        lock(&self.asking).insert(number, (key.clone(), verb));
    }

    /// Removes a call that was answered or given up.
    pub fn asked(&self, number: u64) {
        lock(&self.asking).remove(&number);
    }

    /// The calls that wait for an answer.
    pub fn waiting(&self) -> impl Iterator<Item = String> {
        let asking: Vec<_> = lock(&self.asking).values().map(|(key, verb)| format!("`{verb}` of {key}")).collect();
        asking.into_iter()
    }

    fn number(&self) -> u64 {
        let mut numbered = lock(&self.numbered);
        *numbered += 1;
        *numbered
    }
}
