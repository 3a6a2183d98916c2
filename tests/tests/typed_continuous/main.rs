//! Continuous primitives: the times of ticks, the ends of ticking, and the stored state.
//!
//! - `schedule`: when ticks run (C).
//! - `starting`: starting, stopping and triggering (C).
//! - `failures`: ticks that fail or hang (C).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

macro_rules! hearts {
    ($($name:ident($($options:tt)+))+) => {$(
        #[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
        struct $name(Beat);

        #[primitive(continuous, $($options)+)]
        impl $name {
            async fn spare(&mut self) {
                self.0.failures = 0;
            }

            #[tick]
            async fn beat(&mut self, log: &Log, latch: &Latch, clock: &Clock, cx: &Context) -> Result<(), Failure> {
                self.0.once((log, latch, clock), cx).await
            }
        }
    )+};
}

mod failures;
mod schedule;
mod starting;

use drystone::{
    Context, Error, Failure, Primitives, Retry, Services, Started, d,
    kinds::continuous::{Standing, Status, Triggered},
    primitive,
    testing::{Clock, Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The services of a test.
#[derive(Clone, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
    clock: Clock,
}

/// The beats of a heart, the number of failures to come, and the length of a beat.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct Beat {
    beats: u32,
    failures: u32,
    takes_ms: u64,
    waits: bool,
}

impl Beat {
    async fn once(&mut self, fakes: (&Log, &Latch, &Clock), cx: &Context) -> Result<(), Failure> {
        let (log, latch, clock) = fakes;
        log.say(format!("{} at {}", cx.attempt(), clock.now().as_millis() % 1_000_000));
        if self.waits {
            latch.clone().wait().await;
        }
        clock.sleep(std::time::Duration::from_millis(self.takes_ms)).await;
        self.beats += 1;
        if self.failures > 0 && cx.attempt() <= self.failures {
            return Err("out of step".into());
        }
        Ok(())
    }
}

/// Two short delays, followed by longer and longer delays.
const SLOWLY: Retry = Retry::constant(d!("1s")).attempts(2).then(Retry::linear(d!("5s")));
const ATTEMPTS: u64 = 5;

hearts! {
    Heart(every = "10s", retry = "2s")
    Eager(every = "10s", first = "now")
    Patient(after = "10s")
    Stubborn(every = "10s", retry = "2s", on_exhausted = "continue")
    Mortal(every = "10s", retry = "2s", on_exhausted = "destroy")
    Composed(every = "1m", retry = SLOWLY, max_attempts = ATTEMPTS)
    Hasty(every = "10s", retry = "2s", max_attempts = 1, timeout = "3s")
}

/// The attempt and the time, in seconds since the start of the world, of every new execution.
fn runs(fakes: &Fakes) -> Vec<(u32, u32)> {
    let read = |line: String| {
        let (attempt, at) = line.split_once(" at ").unwrap();
        (attempt.parse().unwrap(), at.parse::<u32>().unwrap() / 1_000)
    };
    fakes.log.take().into_iter().map(read).collect()
}

fn failing(failures: u32) -> Beat {
    Beat { failures, ..Beat::default() }
}

fn waiting() -> Beat {
    Beat { waits: true, ..Beat::default() }
}
