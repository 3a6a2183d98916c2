//! Helpers shared by the law tests of the typed layer.

use std::fmt::Debug;

use drystone::{
    CallError, Error,
    runtime::kernel::Event,
    testing::{Setup, World},
};

/// Returns the setup of a world on memory and of one on SQLite. Every law holds on both.
pub fn both() -> impl Iterator<Item = Setup<()>> {
    // Printed only if the test fails: the last line names the store.
    ["memory", "SQLite"].into_iter().inspect(|name| println!("on {name}")).map(|name| match name {
        "memory" => World::memory(),
        _ => World::sqlite(),
    })
}

/// Begins all calls before it waits for any of them. Returns their answers in order.
pub async fn at_once<T: Send + 'static>(
    calls: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let calls: Vec<_> = calls.map(tokio::spawn).collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("a call does not panic"));
    }
    answers
}

/// Returns the fault of a call. Panics if the call has none.
#[track_caller]
pub fn fault<T: Debug, E: Debug>(answer: Result<T, CallError<E>>) -> Error {
    match answer {
        Err(CallError::Fault(fault)) => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

/// The names of events, in order.
pub fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.lifecycle.name.as_str()).collect()
}
