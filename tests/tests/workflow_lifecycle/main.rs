//! The life of a run: it begins once, ends once, and never comes back to life (L1 to L3, L9, D1).
//!
//! - `starting`: how a run begins (L1, L2).
//! - `cancelling`: a run that is cancelled or terminated (L3).
//! - `ending`: the result of a run, its record, and its unread events (L2, L4, D1).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod cancelling;
mod ending;
mod starting;

use drystone::{
    CallError, Context, Error, Event, Failure, Flow, Never, Primitives, RunError, Services, d,
    dead_letters::{Filter, Payload, What},
    testing::{Fault, Latch, Log, Setup, World},
    workflow,
    workflow::{RunPhase, StartError, Started},
};
use drystone_tests::typed::{at_once, both, fault, names};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(on_terminated = "discard")]
struct Hint(u32);

/// A job that can be cancelled at every point and cleans up.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Job {
    at: String,
}

#[workflow(events(Note, Hint), retention = "1d")]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        flow.update(|job| job.at = "working".into());
        let done = flow.work(name).await?;
        flow.update(|job| job.at = "waiting".into());
        let Note(number) = flow.wait_for::<Note>().await;
        Ok(format!("{done} {number}"))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        let at = flow.look(|job| job.at.clone());
        flow.tidy(format!("was {at}")).await?;
        flow.sleep("1m").await;
        flow.tidy("done".into()).await?;
        flow.update(|job| job.at = "clean".into());
        Ok(())
    }

    #[step(max_attempts = 1)]
    async fn work(name: String, latch: &Latch, log: &Log) -> Result<String, Failure> {
        log.say(format!("work {name}"));
        if name == "fails" {
            return Err("it failed".into());
        }
        if name == "slow" {
            latch.clone().wait().await;
        }
        Ok(name)
    }

    #[step]
    async fn tidy(what: String, log: &Log) -> Result<(), Failure> {
        log.say(what);
        Ok(())
    }

    /// A query: where the job is.
    async fn at(&self) -> String {
        self.at.clone()
    }

    /// A query that emits an event, which is dropped.
    async fn shout(&self, cx: &Context) {
        cx.emit("job.shouted", &self.at);
    }
}

/// A workflow whose state and result are as long as the input says.
#[derive(Default, Serialize, Deserialize)]
struct Long {
    text: String,
}

#[workflow]
impl Long {
    async fn run(flow: &Flow<Self>, sleeps: bool, state: usize, result: usize) -> String {
        flow.update(|long| long.text = "s".repeat(state));
        if sleeps {
            flow.sleep("1h").await;
            flow.update(|long| long.text = long.text.repeat(2));
        }
        "r".repeat(result)
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.update(|long| long.text.push_str(&"s".repeat(1 << 10)));
    }
}

/// The number of ends in the journal of a run.
async fn ends(run: &workflow::Verbs<Long>) -> usize {
    run.history().await.unwrap().to_json().unwrap().matches("\"what\":{\"ended\":").count()
}

fn failed<T: std::fmt::Debug>(result: Result<T, CallError<RunError<Failure>>>) -> RunError<Failure> {
    result.unwrap_err().failed().unwrap()
}
