//! Combinators of durable futures. Each arm is a branch of its own, so the identities of its operations do
//! not depend on the order in which arms are polled. Only woken arms are polled, so n results cost n polls.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use super::durable::Durable;
use crate::workflow::replay::core::Core;

/// The arms that were woken since their last poll, and the waker of the whole combinator. The fields are
/// mutexes because `Wake` requires it: a waker may be called on any thread.
#[derive(Default)]
struct Board {
    rung: Mutex<Vec<usize>>,
    outer: Mutex<Option<Waker>>,
}

impl Board {
    fn take_rung(&self, context: &Context<'_>) -> Vec<usize> {
        *lock(&self.outer) = Some(context.waker().clone());
        std::mem::take(&mut *lock(&self.rung))
    }
}

struct Bell {
    board: Arc<Board>,
    arm: usize,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        lock(&self.board.rung).push(self.arm);
        let outer = lock(&self.board.outer).clone();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One future of a combinator, in a branch of its own.
struct Arm<F: Future> {
    stage: Stage<F>,
    branch: Arc<str>,
    waker: Waker,
}

enum Stage<F: Future> {
    Waits(Pin<Box<F>>),
    Ended(F::Output),
    Over,
}

impl<F: Future> Arm<F> {
    fn poll(&mut self, core: &Core) {
        if let Stage::Waits(future) = &mut self.stage {
            let mut context = Context::from_waker(&self.waker);
            if let Poll::Ready(output) = core.within(&self.branch, || future.as_mut().poll(&mut context)) {
                self.stage = Stage::Ended(output);
            }
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended(_))
    }

    fn take_ended(&mut self) -> Option<F::Output> {
        if self.has_ended() { self.take() } else { None }
    }

    fn take(&mut self) -> Option<F::Output> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Ended(output) => Some(output),
            Stage::Waits(_) | Stage::Over => None,
        }
    }
}

/// The parts of a combinator beside its arms.
struct Frame {
    core: Core,
    board: Arc<Board>,
}

impl Frame {
    fn new() -> Self {
        Self { core: Core::current(), board: Arc::default() }
    }

    fn arms(&self) -> impl Fn(usize) -> (Arc<str>, Waker) + use<> {
        let (branch, board) = (self.core.fork(), self.board.clone());
        move |arm| {
            // Every arm needs a first poll, so it begins as woken.
            lock(&board.rung).push(arm);
            (branch(arm), Waker::from(Arc::new(Bell { board: board.clone(), arm })))
        }
    }
}

fn arm<F: Future>(future: F, (branch, waker): (Arc<str>, Waker)) -> Arm<F> {
    Arm { stage: Stage::Waits(Box::pin(future)), branch, waker }
}

/// The output of a race of two futures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The output of the first future.
    Left(A),
    /// The output of the second future.
    Right(B),
}

/// A race of two futures: the first to end wins, and the other is dropped. See [`select!`](crate::select).
#[must_use = "futures do nothing unless they are awaited"]
pub struct Race<A: Future, B: Future> {
    frame: Frame,
    arms: Option<(Arm<A>, Arm<B>)>,
}

/// Waits for the first of two futures to end, and drops the other.
pub fn race<A: Durable, B: Durable>(one: A, other: B) -> Race<A, B> {
    let frame = Frame::new();
    let at = frame.arms();
    let arms = Some((arm(one, at(0)), arm(other, at(1))));
    Race { frame, arms }
}

impl<A: Future, B: Future> Future for Race<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some((one, other)) = &mut this.arms else { return Poll::Pending };
        for index in this.frame.board.take_rung(context) {
            if index == 0 {
                one.poll(&this.frame.core);
            } else {
                other.poll(&this.frame.core);
            }
            let ended = one.take_ended().map(Either::Left).or_else(|| other.take_ended().map(Either::Right));
            if let Some(ended) = ended {
                // Drop the loser before the winner's arm runs: its operations are released in the same
                // commit (L7).
                this.arms = None;
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    }
}

/// Two futures awaited together: [`join!`](crate::join).
#[must_use = "futures do nothing unless they are awaited"]
pub struct Both<A: Future, B: Future> {
    frame: Frame,
    arms: (Arm<A>, Arm<B>),
}

/// Waits for both futures.
pub fn join<A: Durable, B: Durable>(one: A, other: B) -> Both<A, B> {
    let frame = Frame::new();
    let at = frame.arms();
    let arms = (arm(one, at(0)), arm(other, at(1)));
    Both { frame, arms }
}

impl<A: Future, B: Future> Future for Both<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let (one, other) = &mut this.arms;
        for index in this.frame.board.take_rung(context) {
            if index == 0 {
                one.poll(&this.frame.core);
            } else {
                other.poll(&this.frame.core);
            }
        }
        if !(one.has_ended() && other.has_ended()) {
            return Poll::Pending;
        }
        match (one.take(), other.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            _ => Poll::Pending,
        }
    }
}

/// Many futures awaited together, with their outputs in order: [`join_all`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct All<F: Future> {
    frame: Frame,
    arms: Vec<Arm<F>>,
    left: usize,
}

/// Waits for all futures, and returns their outputs in order.
///
/// ```
/// # use drystone::{Flow, workflow, join_all};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Import;
/// #[workflow]
/// impl Import {
///     async fn run(flow: &Flow<Self>, pages: Vec<u32>) -> Result<u64, drystone::Failure> {
///         let lines = join_all(pages.into_iter().map(|page| flow.load(page))).await;
///         lines.into_iter().sum::<Result<u64, _>>()
///     }
///     #[step] async fn load(page: u32) -> Result<u64, drystone::Failure> { Ok(page.into()) }
/// }
/// ```
pub fn join_all<F: Durable>(futures: impl IntoIterator<Item = F>) -> All<F> {
    let frame = Frame::new();
    let at = frame.arms();
    let arms: Vec<_> = futures.into_iter().enumerate().map(|(index, future)| arm(future, at(index))).collect();
    All { frame, left: arms.len(), arms }
}

impl<F: Future> Future for All<F> {
    type Output = Vec<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        for index in this.frame.board.take_rung(context) {
            let arm = &mut this.arms[index];
            if matches!(arm.stage, Stage::Waits(_)) {
                arm.poll(&this.frame.core);
                this.left -= usize::from(arm.has_ended());
            }
        }
        if this.left > 0 {
            return Poll::Pending;
        }
        Poll::Ready(this.arms.iter_mut().filter_map(Arm::take).collect())
    }
}

// The arms are boxed, so moving a combinator does not move its futures.
impl<A: Future, B: Future> Unpin for Race<A, B> {}
impl<A: Future, B: Future> Unpin for Both<A, B> {}
impl<F: Future> Unpin for All<F> {}

impl<A: Future, B: Future> fmt::Debug for Race<A, B> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Race")
    }
}

impl<A: Future, B: Future> fmt::Debug for Both<A, B> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Both")
    }
}

impl<F: Future> fmt::Debug for All<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "All({} left)", self.left)
    }
}
