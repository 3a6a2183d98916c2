//! The loops of one kernel, each on a thread of its own: started here, and waited for when the kernel ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::{
    Driver,
    driver::{Task, Thread},
    kernel::util::latch::Latch,
};

#[derive(Debug, Default)]
pub(crate) struct Loops {
    state: Mutex<State>,
    /// Notified at the end of each loop.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    loops: Vec<Loop>,
    is_closed: bool,
}

#[derive(Debug)]
struct Loop {
    is_over: Arc<Latch>,
    thread: Thread,
}

impl Loops {
    /// Starts a loop, but none after [`close`](Self::close).
    pub(crate) fn start(self: &Arc<Self>, driver: &dyn Driver, name: &str, task: Task) {
        // Under the lock, so that no loop starts unseen while the kernel waits for the end of all loops.
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        let is_over = Arc::new(Latch::default());
        let over = Over { loops: self.clone(), is_over: is_over.clone() };
        let thread = driver.thread(
            name,
            Box::pin(async move {
                let _over = over;
                task.await;
            }),
        );
        // Forget the loops that have ended: replacement threads come and go while the kernel lives.
        state.loops.retain(|past| !past.is_over.is_set());
        state.loops.push(Loop { is_over, thread });
    }

    pub(crate) fn close(&self) {
        self.state().is_closed = true;
    }

    /// Waits until every loop and its thread have ended.
    pub(crate) async fn wait(&self) {
        loop {
            let ended = self.ended.notified();
            if self.join_those_over() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Joins the threads whose loop is over; returns how many loops continue.
    fn join_those_over(&self) -> usize {
        let over: Vec<Loop> = self.state().loops.extract_if(.., |one| one.is_over.is_set()).collect();
        // A thread whose loop is over runs nothing more, so the join returns at once.
        over.into_iter().for_each(|one| one.thread.join());
        self.state().loops.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropped at the end of its loop, whether the loop returned, panicked or was dropped.
struct Over {
    loops: Arc<Loops>,
    is_over: Arc<Latch>,
}

impl Drop for Over {
    fn drop(&mut self) {
        self.is_over.set();
        self.loops.ended.notify_waiters();
    }
}
