//! Steps: executed at least once, recorded once, and retried by their policy (W1 to W5).
//!
//! - `outcomes`: the outcomes of steps, as they are recorded and replayed (W1, W4).
//! - `retries`: how a step is retried, and when it gives up (W3).
//! - `executions`: how often a step is executed (W2).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod executions;
mod outcomes;
mod retries;

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering},
};

use drystone::{
    CallError, Context, Event, Failure, Fault, Flow, Primitives, Retry, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World},
    workflow,
    workflow::{Cause, RunPhase},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Declined(String);
