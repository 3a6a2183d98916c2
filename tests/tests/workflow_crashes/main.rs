//! Runs whose process dies or whose store fails: nothing is recorded twice, and nothing is forgotten (W1,
//! W2, L3, R4).
//!
//! - `killing`: steps and bodies that kill the process (C).
//! - `deaths`: deaths, outages and shutdowns at any time (W2, R).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod deaths;
mod killing;

use std::cell::RefCell;

use drystone::{
    CallError, Error, Event, Failure, Flow, Primitives, RunError, Services, d,
    testing::{self, Executor, Latch, Log, Moment, Setup, World},
    workflow,
    workflow::RunPhase,
};
use drystone_tests::{
    typed::both,
    world::{self, toys::call},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    doors: Doors,
}

/// The latches for which steps wait. The latch of the guilty step is never opened, because the process dies
/// first.
#[derive(Clone, Default)]
struct Doors {
    guilty: Latch,
    others: Latch,
}

/// A workflow whose step kills the process if the run is guilty.
#[derive(Default, Serialize, Deserialize)]
struct Job;

#[workflow]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        flow.book(name.clone()).await;
        let told = flow.work(name.clone()).await;
        Ok(format!("{name}: {told}, {}", flow.again(name.clone()).await))
    }

    #[step(undo = unbook)]
    async fn book(name: String) -> String {
        name
    }

    #[step]
    async fn unbook(name: String, log: &Log) {
        log.say(format!("{name} is unbooked"));
    }

    #[step]
    async fn work(name: String, doors: &Doors, log: &Log) -> String {
        log.say(name.clone());
        let door = if name == "guilty" { &doors.guilty } else { &doors.others };
        door.clone().wait().await;
        "worked".into()
    }

    #[step]
    async fn again(name: String, log: &Log) -> String {
        log.say(format!("{name} again"));
        "and again".into()
    }
}
