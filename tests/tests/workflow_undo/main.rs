//! A run that fails or is cancelled undoes its steps (W9, L3).
//!
//! - `failing`: a failing run undoes its steps (W9).
//! - `restarting`: a restart of a run with steps that are or were undone (L4, W9).
//! - `cancelling`: a run that is cancelled undoes its steps (L3, W9).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod cancelling;
mod failing;
mod restarting;

use drystone::{
    CallError, Failure, Flow, Primitives, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::{RestartError, RunPhase},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// A part of a trip.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Do {
    Book(String),
    /// A payment whose fault is caught.
    Pay(String),
    /// A payment raced against an hour.
    Race(String),
    /// A payment raced against a sleep that ends at once.
    Lose(String),
    Wait,
    Fail,
    Panic,
    /// Makes the body panic.
    Stop,
}

/// A trip.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    done: u32,
}

#[workflow]
impl Trip {
    async fn run(flow: &Flow<Self>, plan: Vec<Do>) -> Result<u32, Failure> {
        for part in plan {
            match part {
                Do::Book(what) => drop(flow.book(what).await?),
                Do::Pay(card) => drop(flow.pay(card, 7).catch().await),
                Do::Race(card) => select! {
                    _ = flow.pay(card, 7) => {},
                    _ = flow.sleep("1h") => {},
                },
                Do::Lose(card) => select! {
                    _ = flow.pay(card, 7) => {},
                    _ = flow.sleep_until(flow.now()) => {},
                },
                Do::Wait => flow.sleep("1d").await,
                Do::Fail => return Err("no trip".into()),
                Do::Panic => flow.stumble().await,
                Do::Stop => panic!("over the plan"),
            }
            flow.update(|trip| trip.done += 1);
        }
        Ok(flow.look(|trip| trip.done))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.note("cleanup".into()).await;
    }

    /// Undone if it succeeded.
    #[step(max_attempts = 1, undo = unbook)]
    async fn book(what: String, log: &Log) -> Result<String, Failure> {
        if what == "nothing" {
            return Err("sold out".into());
        }
        log.say(format!("book {what}"));
        Ok(format!("{what}-ticket"))
    }

    #[step(max_attempts = 2, backoff = "1m")]
    async fn unbook(ticket: String, log: &Log, latch: &Latch) -> Result<(), Failure> {
        log.say(format!("unbook {ticket}"));
        if ticket.starts_with("slow") {
            latch.clone().wait().await;
        }
        if ticket.starts_with("firm") {
            return Err("not refundable".into());
        }
        Ok(())
    }

    /// Undone also if its outcome is unknown.
    #[step(max_attempts = 1, timeout = "10s", undo = refund)]
    async fn pay(card: String, cents: u32, log: &Log, latch: &Latch) -> Result<String, Failure> {
        log.say(format!("pay {}", short(&card)));
        match short(&card) {
            "declined" => return Err("declined".into()),
            "hangs" => latch.clone().wait().await,
            "panics" => panic!("over the card"),
            _ => {}
        }
        Ok(format!("{cents} by {}", short(&card)))
    }

    #[step]
    async fn refund(card: String, cents: u32, paid: Option<String>, log: &Log) {
        log.say(format!("refund {} {cents} {paid:?}", short(&card)));
    }

    #[step(max_attempts = 1)]
    async fn stumble() {
        panic!("over nothing");
    }

    #[step]
    async fn note(what: String, log: &Log) {
        log.say(what);
    }
}

/// The first word of a card. Long cards have a long tail.
fn short(card: &str) -> &str {
    card.split(' ').next().unwrap_or_default()
}

fn failed<T: std::fmt::Debug>(result: Result<T, CallError<RunError<Failure>>>) -> RunError<Failure> {
    result.unwrap_err().failed().unwrap()
}

fn book(what: &str) -> Do {
    Do::Book(what.to_owned())
}

fn pay(card: &str) -> Do {
    Do::Pay(card.to_owned())
}
