//! Generations of a run: it continues as a new one, or restarts from its beginning or from a step (L4, L5).
//!
//! - `continuing`: a run continues as a new generation (L5).
//! - `limits`: many generations, long ones, and generations of a run that is cancelled (L3, L5, W11).
//! - `restarts`: a run restarts from its beginning or from a step (L4).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod continuing;
mod limits;
mod restarts;

use drystone::{
    CallError, Context, Event, Failure, Flow, Primitives, RunError, Services, Timestamp, d,
    testing::{Fault, Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::{RestartError, Restarted, RunPhase, SendError, Started, Stopped},
};
use drystone_tests::typed::{at_once, both, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Deposit(u64);

#[derive(Debug, Event, Serialize, Deserialize)]
struct Close;

/// A ledger with a new generation for each deposit, or for each month without one.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Ledger {
    seen: u64,
}

#[workflow(events(Deposit, Close))]
impl Ledger {
    async fn run(flow: &Flow<Self>, month: u32, total: u64) -> Result<String, Failure> {
        let Deposit(amount) = select! {
            deposit = flow.wait_for::<Deposit>() => deposit,
            _ = flow.wait_for::<Close>() => return Ok(format!("{total} after {month}")),
            _ = flow.sleep("30d") => Deposit(0),
        };
        flow.update(|ledger| ledger.seen += amount);
        flow.book(amount).await?;
        flow.continue_as(month + 1, total + amount).await
    }

    #[step]
    async fn book(amount: u64, log: &Log, cx: &Context) -> Result<(), Failure> {
        let id = cx.work_id();
        log.say(format!("{amount} {}", id.rsplit('-').next().unwrap_or_default()));
        Ok(())
    }
}

/// Three steps; the second one fails on demand.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    at: u32,
}

#[workflow(events(Deposit))]
impl Order {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        let chance = flow.random() % 1000;
        let one = flow.reserve(name.clone()).await;
        flow.update(|order| order.at = 1);
        let two = flow.charge(one).await?;
        flow.update(|order| order.at = 2);
        let (three, four) = join!(flow.ship(two), flow.reserve("gift".into()));
        let Deposit(tip) = flow.wait_for::<Deposit>().await;
        Ok(format!("{name} {three} {four} {tip} {}", chance == flow.look(|_| chance)))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.ship(99).await;
        Ok(())
    }

    #[step]
    async fn reserve(name: String, log: &Log) -> u64 {
        log.say(format!("reserve {name}"));
        name.len() as u64
    }

    #[step(max_attempts = 1)]
    async fn charge(amount: u64, latch: &Latch, log: &Log) -> Result<u64, Failure> {
        log.say(format!("charge {amount}"));
        if amount == 4 {
            latch.clone().wait().await;
        }
        if amount == 3 { Err("declined".into()) } else { Ok(amount * 10) }
    }

    #[step]
    async fn ship(amount: u64, log: &Log) -> u64 {
        log.say(format!("ship {amount}"));
        amount
    }
}
