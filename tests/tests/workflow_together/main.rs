//! Combinations of features: generations, pauses, updates, undos, children, calls and permits (L4, L5, L6,
//! L8, H2, W9, M5).
//!
//! - `pauses`: updates, children and undos during a pause or while a run continues (H2, L5, L8, W9).
//! - `restarts`: restarts of runs with undos, permits and children (L4, W9, M5, L6).
//! - `parts`: children, calls and permits of one run, and their costs (L6, M5, R8).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod parts;
mod pauses;
mod restarts;

use drystone::{
    Client, Error, Event, Failure, Flow, Primitives, RunError, Services, d, primitive,
    testing::{Latch, Log, Setup, World, replay},
    workflow,
    workflow::{RestartError, RunPhase},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Next(u32);

/// Counts its calls.
#[derive(Default, Serialize, Deserialize)]
struct Tally(u32);

#[primitive(object)]
impl Tally {
    async fn add(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[primitive(semaphore, permits = 1)]
struct Seat;

/// The child of a trip.
#[derive(Default, Serialize, Deserialize)]
struct Leg;

#[workflow(events(Next))]
impl Leg {
    async fn run(flow: &Flow<Self>, span_s: u64) -> u64 {
        flow.sleep(std::time::Duration::from_secs(span_s)).await;
        flow.say(format!("leg of {span_s} s")).await;
        span_s
    }

    #[cancelled]
    async fn back(flow: &Flow<Self>) {
        flow.say("back".into()).await;
    }

    #[step]
    async fn say(what: String, log: &Log) {
        log.say(what);
    }
}

/// A part of a trip. The parts run in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Do {
    /// A step with an undo.
    Book(String),
    /// A step with an undo that takes its input. The step runs until the latch opens.
    Hold(String),
    Call,
    /// Holds a permit until the end.
    Permit,
    /// Takes a permit and gives it back.
    Borrow,
    Child(u64),
    /// A child that is abandoned after an hour.
    Abandon(u64),
    /// A detached child.
    Detach(u64),
    /// A child that is raced against a minute, and awaited again after an hour.
    Later(u64),
    Await,
    /// Waits until this many have voted.
    Votes(u32),
    Continue(Vec<Do>),
    /// Continues this many times without waiting for anything.
    Spin(u32),
    Fail,
    /// The body panics.
    Stumble,
}

/// A trip.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    votes: u32,
}

#[workflow(events(Next))]
impl Trip {
    async fn run(
        flow: &Flow<Self>,
        plan: Vec<Do>,
        legs: &Client<Leg>,
        tallies: &Client<Tally>,
        seats: &Client<Seat>,
    ) -> Result<Vec<String>, Failure> {
        let (mut done, mut held) = (Vec::new(), Vec::new());
        for part in plan {
            match part {
                Do::Book(what) => done.push(flow.book(what).await),
                Do::Hold(what) => done.push(flow.hold(what).await),
                Do::Call => done.push(flow.call(tallies.get("t").add()).await.to_string()),
                Do::Permit => held.push(flow.permit(seats.get("s").acquire()).await),
                Do::Borrow => drop(flow.permit(seats.get("s").acquire()).await),
                Do::Child(span_s) => done.push(told(flow.child(legs.get("awaited").execute(span_s)).await)),
                Do::Abandon(span_s) => {
                    let leg = flow.child(legs.get("abandoned").execute(span_s)).abandon().within("1h").await;
                    done.push(leg.map_or_else(|late| late.to_string(), told));
                }
                Do::Detach(span_s) => {
                    flow.child(legs.get("detached").execute(span_s)).detached().await;
                }
                Do::Later(span_s) => {
                    let mut leg = flow.child(legs.get("leg").execute(span_s));
                    select! {
                        _ = &mut leg => return Err("too early".into()),
                        _ = flow.sleep("1m") => {},
                    }
                    flow.sleep("1h").await;
                    let before = flow.now();
                    done.push(told(leg.await));
                    done.push((flow.now().as_millis() - before.as_millis()).to_string());
                }
                Do::Await => done.push(flow.wait_for::<Next>().await.0.to_string()),
                Do::Votes(votes) => flow.wait_until(|trip| trip.votes >= votes).await,
                Do::Continue(next) => return flow.continue_as(next).await,
                Do::Spin(0) => {}
                Do::Spin(left) => return flow.continue_as(vec![Do::Spin(left - 1), Do::Votes(1)]).await,
                Do::Fail => return Err("no trip".into()),
                Do::Stumble => panic!("over its own plan"),
            }
        }
        Ok(done)
    }

    #[step(undo = unbook)]
    async fn book(what: String, log: &Log) -> String {
        log.say(format!("book {what}"));
        what
    }

    #[step]
    async fn unbook(what: String, log: &Log, latch: &Latch) {
        log.say(format!("unbook {what}"));
        if what == "slowly" {
            latch.clone().wait().await;
        }
    }

    #[step(undo = release)]
    async fn hold(what: String, log: &Log, latch: &Latch) -> String {
        log.say(format!("hold {what}"));
        latch.clone().wait().await;
        what
    }

    #[step]
    async fn release(what: String, held: Option<String>, log: &Log) {
        log.say(format!("release {what} {held:?}"));
    }

    /// Counts a vote and returns the number of votes.
    fn vote(&mut self) -> u32 {
        self.votes += 1;
        self.votes
    }
}

fn told(ended: Result<u64, RunError<drystone::Never>>) -> String {
    ended.map_or_else(|error| error.to_string(), |span_s| span_s.to_string())
}

fn book(what: &str) -> Do {
    Do::Book(what.to_owned())
}

async fn phase(run: &TripHandle) -> RunPhase {
    run.status().await.unwrap().unwrap().phase
}

#[derive(Primitives)]
struct App {
    trip: Trip,
    leg: Leg,
    tally: Tally,
    seat: Seat,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}
