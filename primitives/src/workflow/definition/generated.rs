//! Functions and checks for the code that `#[workflow]` generates. Being shared, they are not
//! compiled again for each workflow.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{
    Address, Args, Call,
    client::call::FOR_EVER,
    decode,
    primitive::Thrown,
    values::stored::Codec,
    workflow::{EventCode, EventOf, Execute, RunError},
};

/// The state that a run begins with.
#[diagnostic::on_unimplemented(
    message = "the workflow state `{Self}` has no initial value",
    label = "no initial value",
    note = "a run begins with it, and a replay begins anew: add `#[derive(Default)]` to `{Self}`"
)]
pub trait Initial {
    /// Returns the initial state.
    fn initial() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> Initial for T {
    fn initial() -> Self {
        T::default()
    }
}

/// Writes the return value of a step or a body that cannot fail. The value is recorded, so it must read
/// back.
pub fn recorded<T>(value: &T, codec: Codec<T>) -> Result<Bytes, Thrown> {
    codec.write_recorded(value).map_err(|reason| unrecordable(&reason))
}

/// Writes the return value of a step or a body that can fail. An error is recorded, too.
pub fn recorded_result<T, E>(ended: Result<T, E>, value: Codec<T>, error: Codec<E>) -> Result<Bytes, Thrown> {
    match ended {
        Ok(returned) => recorded(&returned, value),
        Err(thrown) => Err(error.write_recorded(&thrown).map_or_else(|reason| unrecordable(&reason), Thrown::Failed)),
    }
}

fn unrecordable(reason: &str) -> Thrown {
    Thrown::Unwritable(format!("what it returned: {reason}"))
}

/// The output of an update, polled once. An update is a part of a commit, so it cannot wait.
pub fn at_once<T>(update: impl Future<Output = T>) -> Result<T, Thrown> {
    let polled = std::pin::pin!(update).poll(&mut Context::from_waker(Waker::noop()));
    match polled {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err(Thrown::Malformed("an update is a part of a commit and cannot wait".to_owned())),
    }
}

/// The entry of an event type in the workflow's list. The bound gives one compile error, at the list, for a
/// type that is not an event.
pub const fn event_of<W, E: EventOf<W>>() -> EventCode {
    EventCode::of::<E>()
}

/// Stops the compiler if an earlier event of the list has the same name: the two would share a queue.
pub const fn is_named_once(events: &[EventCode], index: usize) {
    let mut before = 0;
    while before < index {
        let is_same = is_same(events[before].name.as_bytes(), events[index].name.as_bytes());
        assert!(
            !is_same,
            "another event of this workflow has the same name: write `#[event(name = \"..\")]` on one of them"
        );
        before += 1;
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// How an answer is read.
type Read<T> = fn(&[u8]) -> Result<T, String>;

/// Waits for the result of a run.
pub fn result<T, E>(address: &Address, read: Read<T>, thrown: Read<RunError<E>>) -> Call<T, RunError<E>> {
    Call::new(address, "result", Args::new(), read, thrown).deadline(FOR_EVER)
}

/// Starts a run, or finds the run with the same input, and waits for its result.
pub fn execute<T, E>(address: &Address, input: Args, read: Read<T>, thrown: Read<RunError<E>>) -> Execute<T, E> {
    Execute::new(Call::new(address, "execute", input, read, thrown).deadline(FOR_EVER))
}

/// Returns the result of a run, if the run has ended.
pub fn try_result<T, E>(
    address: &Address,
    read: Read<Option<T>>,
    thrown: Read<RunError<E>>,
) -> Call<Option<T>, RunError<E>> {
    Call::new(address, "try_result", Args::new(), read, thrown)
}

/// Reads an optional value. An empty text is `None`, because `null` is the result of many runs.
pub fn read_option<T>(bytes: &[u8], value: Codec<T>) -> Result<Option<T>, String> {
    if bytes.is_empty() { Ok(None) } else { value.read(bytes).map(Some) }
}

/// Reads how a run ended without a result.
pub fn read_run_error<E>(bytes: &[u8], error: Codec<E>) -> Result<RunError<E>, String> {
    Ok(match decode::<RunError<Box<RawValue>>>(bytes)? {
        RunError::Failed(raw) => RunError::Failed(error.read(raw.get().as_bytes())?),
        RunError::Fault(fault) => RunError::Fault(fault),
        RunError::Cancelled => RunError::Cancelled,
        RunError::Terminated => RunError::Terminated,
        RunError::NotFound => RunError::NotFound,
        RunError::AlreadyExists { status } => RunError::AlreadyExists { status },
    })
}
