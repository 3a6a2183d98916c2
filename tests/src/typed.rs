//! What the law tests of the typed layer share.

use std::fmt::Debug;

use drystone::{
    CallError, Error,
    runtime::kernel::Event,
    testing::{Setup, World},
};

/// A world of each flavour: every law holds on memory and on SQLite.
pub fn both() -> impl Iterator<Item = Setup<()>> {
    // Shown if the test fails: the last one is where it did.
    ["memory", "SQLite"].into_iter().inspect(|name| println!("on {name}")).map(|name| match name {
        "memory" => World::memory(),
        _ => World::sqlite(),
    })
}

/// What each comes to; all are begun before any is waited for.
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

/// The fault of a call that must have one.
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
