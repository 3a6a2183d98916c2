//! Entities: how a key is bound, which calls it takes, and what is left of a call that fails.
//!
//! - `binding`: how a key is bound (E).
//! - `code`: the code of an entity: order, failures and panics (E).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod binding;
mod code;

use std::sync::atomic::{AtomicU32, Ordering};

use drystone::{
    CallError, Context, Error, Failure, Primitives, Services, Started, d, primitive,
    testing::{Latch, Log, Moment, Setup, World},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

/// A primitive with a default, so any write binds it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    count: u32,
}

#[primitive(object)]
impl Tally {
    async fn add(&mut self, by: u32, cx: &Context) -> Result<u32, Refusal> {
        let left = 10 - self.count.min(10);
        self.count += by;
        cx.alarm_in(d!("1h"));
        cx.emit("tally.added", &by);
        if by > left {
            return Err(Refusal::TooMuch { left });
        }
        Ok(self.count)
    }

    async fn read(&self) -> u32 {
        self.count
    }

    async fn add_slowly(&mut self, by: u32, latch: &Latch, log: &Log) -> u32 {
        log.say(format!("{by} begins"));
        latch.clone().wait().await;
        self.count += by;
        log.say(format!("{by} ends"));
        self.count
    }

    async fn read_slowly(&self, latch: &Latch, log: &Log) -> u32 {
        log.say(format!("reads {}", self.count));
        latch.clone().wait().await;
        self.count
    }

    /// An action that takes only its input and waits.
    async fn add_later(&mut self, by: u32) -> u32 {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        let count = self.count;
        self.count = 1_000;
        tokio::task::yield_now().await;
        self.count = count + by;
        self.count
    }

    /// An action that takes only its input, waits and fails.
    async fn fail_later(&mut self) -> Result<(), Refusal> {
        self.count = 1_000;
        tokio::task::yield_now().await;
        Err(Refusal::TooMuch { left: 0 })
    }

    async fn panics(&mut self) -> u32 {
        self.count = 99;
        panic!("as asked");
    }

    #[alarm]
    async fn rings(&mut self, log: &Log) -> Result<(), Failure> {
        log.say("rings");
        Ok(())
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refusal {
    TooMuch { left: u32 },
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// The number of executions of `add_later`.
static BEGUN: AtomicU32 = AtomicU32::new(0);
