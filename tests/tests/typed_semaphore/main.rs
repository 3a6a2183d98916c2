//! Semaphores and rate limits: who gets a permit, when the permit comes back, and what its holder learns.
//!
//! - `permits`: who gets a permit, and when (S1, S2, S3).
//! - `leases`: leases, their renewal, and crashes (S4, S5).
//! - `rates`: rate limits, floods of permits, and costs (S).
//! - `other_options`: a number of permits that changes with the code (E11).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod leases;
mod other_options;
mod permits;
mod rates;

use drystone::{
    AcquireError, Client, Failure, Permit, Primitives, Services, d,
    kinds::semaphore::Stats,
    primitive,
    testing::{Fault, Latch, Log, Moment, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// Three permits at once.
#[primitive(semaphore, permits = 3, lease = "30s")]
struct Gate;

/// One permit at once.
#[primitive(semaphore, permits = 1, lease = "30s")]
struct Lock;

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}
