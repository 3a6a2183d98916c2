//! Events to one run: kept in order and taken once, whatever happens meanwhile (V).
//!
//! - `order`: events are taken in order, each once (V1, V2, V4, V5).
//! - `listing`: the list of the queued events (V12).
//! - `limits`: how many, how long, and for how long (V9).
//! - `repeats`: an event that is sent twice, or starts its run (V9, V11).
//! - `deadlines`: an event and the deadline of a wait (V6).
//! - `shapes`: slots, keys, and waits for several events (V2, V8).
//! - `identity`: an event reaches its run and no other (V3, V7, V10).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod deadlines;
mod identity;
mod limits;
mod listing;
mod order;
mod repeats;
mod shapes;

use drystone::{
    CallError, Event, Failure, Flow, Primitives, Services, d,
    dead_letters::Filter,
    testing::{Fault, Log, Moment, Setup, World},
    workflow,
    workflow::{Cause, RunError, RunPhase, SendError},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Event, Serialize, Deserialize)]
struct Number(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "latest")]
struct Price(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "first", on_terminated = "discard")]
struct Bid(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order, max_queued = 3, expires = "1h")]
struct Paid {
    order: String,
    amount: u32,
}

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = shelf)]
struct Parcel {
    shelf: String,
    number: u32,
}

/// Takes `count` numbers in sequence. May sleep first.
#[derive(Default, Serialize, Deserialize)]
struct Taker {
    taken: Vec<u32>,
}

#[workflow(events(Number, Price, Bid, Paid))]
impl Taker {
    async fn run(flow: &Flow<Self>, count: u32, sleeps: bool) -> Vec<u32> {
        if sleeps {
            flow.sleep("10m").await;
        }
        for _ in 0..count {
            let Number(number) = flow.wait_for::<Number>().await;
            flow.update(|taker| taker.taken.push(number));
        }
        flow.look(|taker| taker.taken.clone())
    }
}

/// Waits for one event among many.
#[derive(Default, Serialize, Deserialize)]
struct Finder;

#[workflow(events(Parcel))]
impl Finder {
    async fn run(flow: &Flow<Self>, shelf: String) -> u32 {
        flow.wait_for::<Parcel>().key(shelf).await.number
    }
}
