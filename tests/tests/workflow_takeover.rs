//! Runs whose worker is replaced while they are in progress: another worker resumes them where they are,
//! and the old worker's writes come too late.

use std::time::Duration;

use drystone::{Event, Flow, Primitives, Services, workflow};
use drystone_runtime::Registry;
use drystone_tests::world::{Latch, Log, Running, World, toys::call};
use serde::{Deserialize, Serialize};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Event, Serialize, Deserialize)]
struct Paid {
    cents: u32,
}

/// Charges, then waits for the payment for ten minutes.
#[derive(Default, Serialize, Deserialize)]
struct Order;

#[workflow(events(Paid))]
impl Order {
    async fn run(flow: &Flow<Self>) -> String {
        flow.charge().await;
        match flow.wait_for::<Paid>().timeout("10m").await {
            Ok(first) => format!("{} then {}", first.cents, flow.wait_for::<Paid>().await.cents),
            Err(timeout) => format!("nothing after {:?}", timeout.after),
        }
    }

    #[step]
    async fn charge(latch: &Latch, log: &Log) {
        log.say("charges");
        latch.clone().wait().await;
        log.say("charged");
    }
}

#[derive(Primitives)]
struct App {
    order: Order,
}

impl Fakes {
    fn registry(&self) -> Registry {
        drystone::testing::registry_with_shared_keys::<Self, App>(self.clone()).expect("its names are good ones")
    }
}

/// A run that has begun in the first process.
fn begun(fakes: &Fakes) -> World {
    let world = World::of(fakes.registry());
    world.call(call("order", "a", "start", "[]")).expect("it is new");
    world
}

/// The first process sleeps, and another one takes its partitions over half a minute later.
fn taken_over(world: &World, fakes: &Fakes) -> Running {
    world.freeze(true);
    let other = world.second(fakes.registry(), |_| {});
    world.advance(MINUTE / 2);
    other
}

/// The number of operations in the journal of the run, as this process reads it.
fn operations(running: &Running) -> usize {
    let history = running.ask_call(call("order", "a", "history", "[0]")).text().expect("it is the owner");
    history.matches("\"op\":").count()
}

/// V5, A5, R3, fA13
#[test]
fn a_takeover_does_not_move_the_deadline_of_a_wait() {
    let fakes = Fakes::default();
    fakes.latch.open();
    let world = begun(&fakes);
    world.advance(4 * MINUTE);
    let other = taken_over(&world, &fakes);
    let result = other.ask_call(call("order", "a", "result", "[]").deadline(60 * MINUTE));
    world.advance(5 * MINUTE + MINUTE / 2 - SECOND);
    assert!(result.waits(), "a second of the ten minutes is left");
    world.advance(SECOND);
    assert_eq!(result.text().expect("it has ended"), "\"nothing after 600s\"");
    other.kill();
}

/// W1, W2, R3: The outcome of the old worker is late.
#[test]
fn a_running_step_runs_again_with_the_new_worker() {
    let fakes = Fakes::default();
    let world = begun(&fakes);
    let other = taken_over(&world, &fakes);
    assert_eq!(fakes.log.take(), ["charges", "charges"]);
    fakes.latch.open();
    world.settle();
    assert_eq!((fakes.log.take().len(), operations(&other)), (1, 1), "the old one sleeps");
    world.freeze(false);
    world.advance(MINUTE / 2);
    assert_eq!(operations(&other), 1, "what the old one has to say is refused");
    other.kill();
}

/// V1, V2, R3
#[test]
fn the_new_worker_has_the_queued_events_in_order() {
    let fakes = Fakes::default();
    let world = begun(&fakes);
    for cents in [1, 2] {
        let paid = format!("[\"Paid\",{{\"cents\":{cents}}}]");
        world.call(call("order", "a", "send", paid)).expect("it is queued");
    }
    let other = taken_over(&world, &fakes);
    fakes.latch.open();
    let result = other.ask_call(call("order", "a", "result", "[]"));
    assert_eq!(result.text().expect("it has ended"), "\"1 then 2\"");
    other.kill();
}
