//! Calls from the test's own code into the world. A call is polled inside the world, and answered when the
//! world is at rest.
//!
//! A task that makes a call first lets all other tasks make theirs, then runs the world until nothing is
//! left to do. Only then are the tasks with answers woken. So calls that are awaited together are made
//! together, and after an `await` a test sees all consequences at this time, not a race.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use drystone_runtime::{Call, Kernel, driver::Task};

use super::{
    driver::spread,
    executor::{Executor, Process},
    patience::Patience,
    running::Running,
};
use crate::{
    Error,
    client::call::{Answer, Asking, Carried, Transport},
    testing::trial::Trial,
};

/// The way from the test's own code into a world.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    executor: Executor,
    /// The test's own process, which is never killed.
    outside: Process,
    patience: Duration,
    /// The kernel of the process that runs now, or ran last. Callers do not see a change of the process.
    kernel: Arc<Mutex<Option<(Process, Kernel)>>>,
    trial: Option<Arc<Trial>>,
    /// How many random numbers the test's own code has drawn. The processes of the world count apart, because
    /// a crash changes how many they draw.
    drawn: Arc<AtomicU64>,
}

impl Relay {
    pub(in crate::testing) fn new(executor: Executor, patience: Duration, trial: Option<Arc<Trial>>) -> Self {
        let outside = executor.process();
        Self { executor, outside, patience, kernel: Arc::default(), trial, drawn: Arc::default() }
    }

    pub(in crate::testing) fn set_kernel(&self, kernel: Option<(Process, Kernel)>) {
        *self.kernel.lock().unwrap_or_else(PoisonError::into_inner) = kernel;
    }

    /// Runs a task for as long as the world exists.
    pub(in crate::testing) fn attend(&self, task: impl Future<Output = ()> + Send + 'static) {
        std::mem::forget(self.executor.spawn_named(self.outside, "attendant", Box::pin(task)));
    }

    fn current(&self) -> Option<(Process, Kernel)> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Polls a future in the world, and returns its value; `None` if the world is gone.
    pub(in crate::testing) async fn ask<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let answer = Arc::new(Mutex::new(None));
        let into = answer.clone();
        let asked = self.run_inside(Box::pin(async move {
            let value = future.await;
            *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        }));
        asked.await;
        answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn run_inside(&self, task: Task) {
        let end = Arc::new(End::default());
        let told = Told { executor: self.executor.clone(), end: end.clone() };
        let task = Box::pin(async move {
            let _told = told;
            task.await;
        });
        let _handle = self.executor.spawn_named(self.outside, "outside", task);
        self.executor.state().begin_moment();
        yield_once().await;
        let mut patience = pin!(Patience::new(self.executor.clone(), self.patience));
        poll_fn(|context| {
            end.wait(context.waker());
            run(&self.executor, context, |running| {
                running.settle();
            });
            if end.has_come() {
                return Poll::Ready(());
            }
            patience.as_mut().poll(context)
        })
        .await;
    }

    /// Runs everything that can run while time stands still.
    pub(in crate::testing) async fn settle(&self) {
        self.advance(Duration::ZERO).await;
    }

    /// Lets time pass. A task outside that gets an answer on the way may act at that time, before time moves
    /// on.
    pub(in crate::testing) async fn advance(&self, span: Duration) {
        yield_once().await;
        let until = self.executor.monotonic() + span;
        let mut seen = 0;
        poll_fn(|context| match run(&self.executor, context, |running| self.pass(running, until, &mut seen)) {
            Some(Passed::Whole) => Poll::Ready(()),
            Some(Passed::Part) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Pending,
        })
        .await;
    }

    /// Lets as much time pass as possible in one go. `seen` is the number of polls when it last stopped.
    fn pass(&self, running: &Running<'_>, until: Duration, seen: &mut u64) -> Passed {
        let mut stepped_at = None;
        loop {
            let was_anybody_told = running.settle();
            let polls = self.executor.state().polls;
            // A step after which no task of the world was polled has woken a task of the test.
            let woke_outside = stepped_at == Some(polls);
            // Code that yields to its async runtime is woken only after this task has yielded to that
            // runtime, too.
            let may_have_yielded = std::mem::replace(seen, polls) != polls && self.executor.state().has_work();
            if was_anybody_told || woke_outside || may_have_yielded {
                return Passed::Part;
            }
            if !running.step(until) {
                return Passed::Whole;
            }
            stepped_at = Some(polls);
        }
    }
}

impl Relay {
    /// Asks the kernel of the process that runs now. If the process died by itself before the answer came,
    /// the kernel of the next life is asked again.
    async fn ask_kernel<T: Send + 'static, F>(&self, ask: impl Fn(Kernel) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        loop {
            // Read before asking, so that a death while the question is in flight shows.
            let lives = self.lives();
            let kernel = self.current().map(|(_, kernel)| kernel).ok_or(Error::Closing)?;
            let answer = self.ask(ask(kernel)).await.unwrap_or(Err(Error::Closing));
            let was_lost = matches!(answer, Err(Error::Closing | Error::Unknown { .. } | Error::NotOwner { .. }));
            if !was_lost || lives == self.lives() {
                return answer;
            }
        }
    }

    /// A number that grows when the process dies by itself, without an order of the test, and when it is
    /// back.
    fn lives(&self) -> u64 {
        self.trial.as_ref().map_or(0, |trial| trial.lives())
    }

    /// Whether every answered call is made a second time.
    fn repeats(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.repeats())
    }
}

impl Transport for Relay {
    fn random(&self) -> u64 {
        // Relaxed is enough: every draw needs a different number, in any order.
        spread(self.drawn.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Makes a call, twice if the trial repeats calls. In a trial the call gets an idempotency key, so that it
    /// can be made again.
    fn call(&self, call: Call) -> Answer {
        let relay = self.clone();
        Box::pin(async move {
            let call = match &relay.trial {
                Some(trial) => trial.prepare(call),
                None => call,
            };
            let ask = |kernel: Kernel| {
                let call = call.clone();
                async move { kernel.call(call).await }
            };
            let answer = relay.ask_kernel(ask).await;
            if answer.is_ok() && relay.repeats() { relay.ask_kernel(ask).await } else { answer }
        })
    }

    fn carry<'a>(&'a self, ask: &'a (dyn Fn(Kernel) -> Asking + Send + Sync)) -> Carried<'a> {
        Box::pin(self.ask_kernel(ask))
    }
}

/// How far an advance has come.
enum Passed {
    /// Time has passed to the end.
    Whole,
    /// Time has passed to a point at which a task outside may want to act.
    Part,
}

/// Runs the world. If another task is running the world, this task is woken as soon as work is left.
fn run<T>(executor: &Executor, context: &mut Context<'_>, body: impl FnOnce(&Running<'_>) -> T) -> Option<T> {
    executor.wait(context.waker());
    let mut body = Some(body);
    let once = poll_fn(|_| {
        let running = executor.run();
        Poll::Ready(running.and_then(|running| body.take().map(|body| body(&running))))
    });
    // Tokio limits the work of a task before it must yield, and this task does the work of many. Without
    // `unconstrained`, tokio's channels would after a while report forever that they are not ready.
    match pin!(tokio::task::unconstrained(once)).poll(context) {
        Poll::Ready(ran) => ran,
        Poll::Pending => None,
    }
}

async fn yield_once() {
    let mut is_back = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_back, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The end of a task that was asked for.
#[derive(Default)]
struct End {
    has_come: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl End {
    fn wait(&self, waker: &Waker) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }

    fn has_come(&self) -> bool {
        self.has_come.load(Ordering::Acquire)
    }
}

/// Reports the end when it is dropped: when the task is done, or is thrown away.
struct Told {
    executor: Executor,
    end: Arc<End>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.end.has_come.store(true, Ordering::Release);
        let waker = self.end.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.executor.state().told.extend(waker);
    }
}
