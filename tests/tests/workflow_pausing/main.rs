//! Paused runs: running steps end, timers wait, and events are queued (H2).
//!
//! - `holding`: what a pause holds: steps, timers and events (H1, H2).
//! - `leaving`: how a pause ends, and runs that are stopped (H1, H3, W7).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod holding;
mod leaving;

use drystone::{
    CallError, Event, Failure, Flow, Primitives, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::RunPhase,
};
use drystone_runtime::kernel::Wait;
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(u32);

/// Two steps, a sleep, a wait with a deadline, and an end.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Job {
    at: u32,
}

#[workflow(events(Note))]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        let one = flow.work(name).await;
        flow.update(|job| job.at = 1);
        let two = flow.work(one).await;
        flow.sleep("1h").await;
        flow.update(|job| job.at = 2);
        let note = flow.wait_for::<Note>().timeout("1h").await;
        Ok(format!("{two} {:?}", note.map(|note| note.0).ok()))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.work("tidy".into()).await;
    }

    #[step]
    async fn work(name: String, latch: &Latch, log: &Log) -> String {
        log.say(name.clone());
        if name == "slow" {
            latch.clone().wait().await;
        }
        format!("{name}+")
    }
}
