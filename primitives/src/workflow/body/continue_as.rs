//! The end of a generation and the beginning of the next.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;

use crate::{
    Args,
    workflow::{
        Fault,
        client::fault::Cause,
        replay::core::{Core, Stop},
    },
};

/// Continues the run as a new generation: `return flow.continue_as(next_month, total).await`, with the
/// parameters of `run` (L5).
///
/// One commit ends this generation and begins the next. The new journal has only its start, so a run may
/// continue forever. Unread events stay queued, in their order. Everything else that the body waits for
/// ends with this generation: running steps are dropped, and their late results are not taken. Callers that
/// wait for the result continue to wait.
///
/// The state begins anew, too: pass everything that the next generation needs as its input. This future
/// never resolves.
#[must_use = "a run does not go on before this is awaited"]
pub struct ContinueAs<T> {
    core: Core,
    input: Option<Result<Bytes, String>>,
    unreadable: Option<String>,
    output: PhantomData<fn() -> T>,
}

impl<T> ContinueAs<T> {
    /// Continues with these parameters. Generated code uses this for `flow.continue_as(..)`.
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
            // A mistake in the code, which every replay repeats: the panic stops the run with the reason.
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
