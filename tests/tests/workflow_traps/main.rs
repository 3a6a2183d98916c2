//! Limits, long values, strange names and missing things: each is a fault or a stop with a message, and no
//! run is lost (W7, W11, E10, K3).
//!
//! - `limits`: the limits of a journal and of the operations at once (W11).
//! - `sizes`: values that are too large for a record (W11, K3).
//! - `names`: strange names, and an event behind many others (W1, W4, V2).
//! - `durable`: a body that awaits what is not durable, or uses its flow elsewhere (W7, W8).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod durable;
mod limits;
mod names;
mod sizes;

use std::{
    cell::RefCell,
    fmt::Debug,
    future::poll_fn,
    task::{Poll, Waker},
};

use drystone::{
    CallError, Error, Event, Failure, Fault, Flow, Primitives, RunError, Timestamp, assume_durable, d, join_all,
    testing::World,
    workflow,
    workflow::{Cause, RunPhase, RunStatus, Stopped},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(String);

/// Waits for a note and measures it.
#[derive(Default, Serialize, Deserialize)]
struct Reader;

#[workflow(events(Note))]
impl Reader {
    async fn run(flow: &Flow<Self>, _title: String) -> usize {
        flow.wait_for::<Note>().await.0.len()
    }
}

fn fault_of<T: Debug, E: Debug>(result: Result<T, CallError<RunError<E>>>) -> Fault {
    match result {
        Err(CallError::Failed(RunError::Fault(fault))) => fault,
        other => panic!("not a fault: {other:?}"),
    }
}
