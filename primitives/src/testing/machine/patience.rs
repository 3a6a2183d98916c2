//! How long a test waits for a world in which nothing moves. This is the only real time in the kit.

use std::{
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use drystone_runtime::driver::{Task, Timer};

use super::executor::Executor;

/// A future that is never ready. It panics if the world has polled nothing for `span`, because the test
/// would wait forever.
pub(in crate::testing) struct Patience {
    executor: Executor,
    span: Duration,
    sleep: Option<Task>,
    polls: u64,
}

impl Patience {
    pub(in crate::testing) fn new(executor: Executor, span: Duration) -> Self {
        Self { executor, span, sleep: None, polls: 0 }
    }
}

impl Future for Patience {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let polls = self.executor.state().polls;
        if std::mem::replace(&mut self.polls, polls) != polls || self.sleep.is_none() {
            let Some(timer) = timer() else { return Poll::Pending };
            self.sleep = Some(Box::pin(timer.sleep_until(Instant::now() + self.span)));
        }
        let is_over = self.sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(context).is_ready());
        assert!(
            !is_over,
            "nothing moves: the test waits for an answer that needs time to pass, or something that the test holds; \
             let it go on beside the call, for example with `tokio::join!(call, world.advance(..))` (waited {:?})",
            self.span
        );
        Poll::Pending
    }
}

/// Returns the timer of all worlds of a test program. Without a timer, no wait has a limit.
fn timer() -> Option<&'static Timer> {
    static TIMER: OnceLock<Option<Timer>> = OnceLock::new();
    TIMER.get_or_init(|| Timer::start().ok()).as_ref()
}
