//! The end of a generation and the beginning of the next.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;

use super::{
    Fault,
    core::{Core, Stop},
    fault::Cause,
};
use crate::Args;

/// The run goes on as a new generation: `return flow.continue_as(next_month, total).await`, with the parameters of `run` (L5).
///
/// One commit ends this generation and begins the next: its journal is empty but for its start, so that a run may go on for
/// ever. Events that nobody took stay queued, in their order; whatever else the body waits for ends with it, steps that run are
/// dropped, and what they come to is not taken. Whoever waits for the result goes on waiting.
///
/// The state begins anew, too: what the next generation is to know is its input. It never resolves.
#[must_use = "a run does not go on before this is awaited"]
pub struct ContinueAs<T> {
    core: Core,
    input: Option<Result<Bytes, String>>,
    unreadable: Option<String>,
    output: PhantomData<fn() -> T>,
}

impl<T> ContinueAs<T> {
    /// With these parameters: what generated code makes of `flow.continue_as(..)`.
    pub fn new(core: &Core, mut input: Args) -> Self {
        let unreadable = input.unreadable();
        Self { core: core.clone(), input: Some(input.finish()), unreadable, output: PhantomData }
    }
}

impl<T> Future for ContinueAs<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        if let Some(reason) = self.unreadable.take() {
            self.input = None;
            let cause = Cause::Refused { reason: format!("its input: {reason}") };
            self.core.stop(Stop::Fault(Fault { step: "continue_as".to_owned(), cause }));
        }
        match self.input.take() {
            Some(Ok(input)) => self.core.stop(Stop::Continue(input)),
            // It is a mistake of the code, and the same in every replay.
            Some(Err(reason)) => panic!("the input of the next generation cannot be written: {reason}"),
            None => {}
        }
        Poll::Pending
    }
}

impl<T> fmt::Debug for ContinueAs<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ContinueAs")
    }
}
