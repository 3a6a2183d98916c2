//! One thread that wakes sleepers, whatever the author's code does to the runtime's threads (fC10).

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// A timer with a thread of its own. Sleepers leave it when they are dropped.
#[derive(Debug, Default)]
pub struct Timer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    sleepers: Mutex<Sleepers>,
    earlier: Condvar,
}

#[derive(Debug, Default)]
struct Sleepers {
    wakers: BTreeMap<(Instant, u64), Waker>,
    next: u64,
    closed: bool,
}

impl Timer {
    /// Starts the thread; it ends when the timer is dropped.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mine = shared.clone();
        thread::Builder::new().name("drystone-timer".into()).spawn(move || mine.run())?;
        Ok(Self(shared))
    }

    /// Ready at `at`.
    pub fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + use<> {
        Sleep { shared: self.0.clone(), at, ticket: None }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.earlier.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut sleepers = self.lock();
        while !sleepers.closed {
            let (due, next) = sleepers.take_due(now());
            if !due.is_empty() {
                // Wakers run foreign code: never under the lock.
                drop(sleepers);
                due.into_iter().for_each(Waker::wake);
                sleepers = self.lock();
                continue;
            }
            let pause = next.map_or(Duration::from_secs(60), |at| at.saturating_duration_since(now()));
            let waited = self.earlier.wait_timeout(sleepers, pause);
            sleepers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Sleepers {
    fn take_due(&mut self, now: Instant) -> (Vec<Waker>, Option<Instant>) {
        let mut due = Vec::new();
        while let Some(entry) = self.wakers.first_entry() {
            if entry.key().0 > now {
                return (due, Some(entry.key().0));
            }
            due.push(entry.remove());
        }
        (due, None)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the driver: where time comes in")]
fn now() -> Instant {
    Instant::now()
}

struct Sleep {
    shared: Arc<Shared>,
    at: Instant,
    ticket: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if now() >= self.at {
            return Poll::Ready(());
        }
        let shared = self.shared.clone();
        let mut sleepers = shared.lock();
        let number = *self.ticket.get_or_insert_with(|| {
            sleepers.next += 1;
            sleepers.next
        });
        let first = sleepers.wakers.first_key_value().is_none_or(|(key, _)| self.at < key.0);
        sleepers.wakers.insert((self.at, number), context.waker().clone());
        drop(sleepers);
        if first {
            shared.earlier.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.ticket {
            self.shared.lock().wakers.remove(&(self.at, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::block_on;

    #[test]
    fn a_sleeper_wakes_no_earlier_than_asked_and_leaves_when_dropped() {
        let timer = Timer::start().unwrap();
        let at = now() + Duration::from_millis(5);
        let mut left = Box::pin(timer.sleep_until(at + Duration::from_secs(3600)));
        assert!(left.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        block_on(timer.sleep_until(at));
        assert!(now() >= at);
        drop(left);
        assert!(timer.0.lock().wakers.is_empty());
    }
}
