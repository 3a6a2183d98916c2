//! A timer whose own thread wakes sleepers, even while the author's code blocks the threads of the async
//! runtime (fC10).

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A timer with a thread of its own. A sleeper that is dropped is removed from the timer.
#[derive(Debug)]
pub struct Timer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    sleepers: Mutex<Sleepers>,
    /// Notified when a new sleeper is the first to wake, and when the timer is closed.
    earlier: Condvar,
}

#[derive(Debug, Default)]
struct Sleepers {
    wakers: BTreeMap<(Instant, u64), Waker>,
    next: u64,
    closed: bool,
}

impl Timer {
    /// Starts the thread; it ends when the timer is dropped or stopped.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mine = shared.clone();
        let thread = thread::Builder::new().name("drystone-sleeps".into()).spawn(move || mine.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread and waits for it. From then on every sleep is ready at once. Must not be called on the
    /// timer's own thread.
    pub(crate) fn stop(&self) {
        let woken = self.shared.close();
        woken.into_iter().for_each(Waker::wake);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// Returns a future that is ready at `at`.
    pub fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + use<> {
        Sleep { shared: self.shared.clone(), at, ticket: None }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // The remaining sleepers are not woken: no executor polls them any more, and their wakers run foreign
        // code.
        drop(self.shared.close());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the thread to end, and returns the wakers of the sleepers.
    fn close(&self) -> Vec<Waker> {
        let mut sleepers = self.lock();
        sleepers.closed = true;
        let woken = std::mem::take(&mut sleepers.wakers).into_values().collect();
        drop(sleepers);
        self.earlier.notify_one();
        woken
    }

    fn run(&self) {
        let mut sleepers = self.lock();
        while !sleepers.closed {
            let (due, next) = sleepers.take_due(now());
            if !due.is_empty() {
                // Release the lock before waking: wakers run foreign code, which may call this timer and
                // would deadlock.
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
        if sleepers.closed {
            return Poll::Ready(());
        }
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
        assert!(timer.shared.lock().wakers.is_empty());
    }

    #[test]
    fn a_timer_that_is_stopped_wakes_its_sleepers_and_its_thread_has_ended() {
        let timer = Timer::start().unwrap();
        let hour = now() + Duration::from_secs(3600);
        let mut asleep = Box::pin(timer.sleep_until(hour));
        assert!(asleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        timer.stop();
        timer.stop();
        block_on(asleep);
        block_on(timer.sleep_until(hour));
        assert!(timer.thread.lock().unwrap().is_none());
    }
}
