//! The sleepers of a world, in time that moves by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use super::executor::Executor;

/// All sleepers, by the time at which they wake.
#[derive(Default)]
pub(in crate::testing) struct Sleepers {
    by_time: BTreeMap<(Duration, u64), Sleeper>,
    /// The sleepers whose sleep was ended early.
    roused: BTreeSet<u64>,
}

struct Sleeper {
    waker: Waker,
    /// The name of the sleeping task.
    name: Option<Arc<str>>,
}

impl Sleepers {
    /// Takes the first sleeper, if it wakes by `until`.
    pub(in crate::testing) fn take_first(&mut self, until: Duration) -> Option<(Duration, Waker)> {
        let first = self.by_time.first_entry().filter(|first| first.key().0 <= until)?;
        Some((first.key().0, first.remove().waker))
    }

    /// Ends the sleep of all tasks with this name.
    pub(in crate::testing) fn rouse(&mut self, name: &str) -> Vec<Waker> {
        let is_named = |sleeper: &Sleeper| sleeper.name.as_deref() == Some(name);
        let named = self.by_time.extract_if(.., |_, sleeper| is_named(sleeper));
        let roused = |((_, number), sleeper): ((Duration, u64), Sleeper)| (number, sleeper.waker);
        let (numbers, wakers): (Vec<u64>, Vec<Waker>) = named.map(roused).unzip();
        self.roused.extend(numbers);
        wakers
    }
}

/// A future that is ready at a point in time.
pub(in crate::testing) struct Sleep {
    executor: Executor,
    at: Duration,
    number: Option<u64>,
}

impl Sleep {
    pub(in crate::testing) fn until(executor: Executor, at: Duration) -> Self {
        Self { executor, at, number: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let executor = self.executor.clone();
        let mut state = executor.state();
        let number = *self.number.get_or_insert_with(|| state.number());
        if state.monotonic >= self.at || state.sleepers.roused.remove(&number) {
            return Poll::Ready(());
        }
        let name = state.current.as_ref().map(|(_, name)| name.clone());
        let sleeper = Sleeper { waker: context.waker().clone(), name };
        state.sleepers.by_time.insert((self.at, number), sleeper);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut state = self.executor.state();
            state.sleepers.by_time.remove(&(self.at, number));
            state.sleepers.roused.remove(&number);
        }
    }
}
