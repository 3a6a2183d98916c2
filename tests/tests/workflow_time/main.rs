//! Time and concurrency: sleeps, races and joins, however nested (H1, L7, A5).
//!
//! - `sleeps`: sleeps and deadlines (L7).
//! - `races`: races, joins, chance and time (L7, W4).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod races;
mod sleeps;

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use drystone::{
    Event, Flow, Primitives, Services, Timestamp, assume_durable, d, join_all,
    testing::{Fault, Latch, Log, Moment, Setup, World},
    workflow,
    workflow::{RunPhase, Step},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Event, Serialize, Deserialize)]
struct Go;
