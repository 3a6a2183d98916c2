//! The lifecycle events of runs and of a continuous entity that is destroyed (E15), and the answer of an
//! ended run to a sender (V7).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Event, Failure, Flow, LifecycleEvent, Never, Primitives, d, primitive,
    testing::{Setup, World},
    workflow,
    workflow::{RunPhase, SendError},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// Holds a seat, waits for the event, and fails.
#[derive(Default, Serialize, Deserialize)]
struct Trip;

#[workflow(events(Go))]
impl Trip {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.hold(7).await;
        flow.hold(8).await;
        flow.wait_for::<Go>().await;
        Err("no trip today".into())
    }

    #[step(undo = release)]
    async fn hold(seat: u32) -> u32 {
        seat
    }

    #[step]
    async fn release(_seat: u32) {}
}

/// Fails at its first tick, and is destroyed.
#[derive(Default, Serialize, Deserialize)]
struct Doomed;

#[primitive(continuous, every = "1s", max_attempts = 1, on_exhausted = "destroy")]
impl Doomed {
    #[tick]
    async fn tick(&mut self) -> Result<(), String> {
        Err("as it must".into())
    }
}

/// Always succeeds.
#[derive(Default, Serialize, Deserialize)]
struct Healthy;

#[primitive(continuous, every = "1s")]
impl Healthy {
    #[tick]
    async fn tick(&mut self) -> Result<(), Never> {
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    trip: Trip,
    doomed: Doomed,
    healthy: Healthy,
}

async fn started(setup: Setup<()>) -> World<App> {
    setup.start::<App>().await
}

/// The lifecycle events since the last call, as listeners get them.
fn told(world: &World<App>) -> Vec<LifecycleEvent> {
    world.events().into_iter().map(LifecycleEvent::from).collect()
}

/// E15, L1
#[tokio::test]
async fn a_run_tells_of_a_pause_and_a_resume_once_each() {
    for setup in both() {
        let world = started(setup).await;
        let trip = world.client().trip("a");
        trip.start().await.unwrap();
        world.settle().await;
        assert_eq!(names(&world.events()), ["workflow.started"]);
        assert!(trip.pause().await.unwrap());
        assert!(!trip.pause().await.unwrap());
        assert_eq!(names(&world.events()), ["workflow.paused"]);
        assert!(trip.resume().await.unwrap());
        assert!(!trip.resume().await.unwrap());
        assert_eq!(names(&world.events()), ["workflow.resumed"]);
    }
}

/// E15, W9, L3
#[tokio::test]
async fn a_run_reports_its_undos_and_its_cancel() {
    for setup in both() {
        let world = started(setup).await;
        let trip = world.client().trip("a");
        trip.start().await.unwrap();
        world.settle().await;
        world.events();
        assert!(trip.cancel().await.unwrap());
        world.settle().await;
        let told = told(&world);
        assert_eq!(
            told.iter().map(|event| &*event.name).collect::<Vec<_>>(),
            ["workflow.undoing", "workflow.cancelled"]
        );
        assert_eq!(Value::from(told[0].fields.clone()), json!({ "count": 2 }), "a number is a number");
        assert_eq!((&*told[1].key, &*told[1].primitive), ("a", "trip"));
    }
}

/// E15, L3
#[tokio::test]
async fn a_run_tells_that_it_was_terminated_and_undoes_nothing() {
    for setup in both() {
        let world = started(setup).await;
        let trip = world.client().trip("a");
        trip.start().await.unwrap();
        world.settle().await;
        world.events();
        assert!(trip.terminate().await.unwrap());
        assert!(!trip.terminate().await.unwrap());
        world.settle().await;
        assert_eq!(names(&world.events()), ["workflow.terminated"]);
    }
}

/// E15, A3
#[tokio::test]
async fn a_continuous_entity_destroyed_for_failures_is_reported_dead() {
    for setup in both() {
        let world = started(setup).await;
        world.client().doomed("d").start().await.unwrap();
        world.client().healthy("h").start().await.unwrap();
        world.advance(d!("1s")).await;
        let told = told(&world);
        let of_it: Vec<_> = told.iter().filter(|event| event.primitive == "doomed").collect();
        let names: Vec<_> = of_it.iter().map(|event| &*event.name).collect();
        assert!(names.starts_with(&["continuous.failed", "continuous.dead"]), "{told:?}");
        let fields = &of_it[1].fields;
        assert_eq!((&fields["attempts"], fields["error"].to_string().contains("as it must")), (&json!(1), true));
        assert!(!told.iter().any(|event| event.primitive == "healthy"), "{told:?}");
    }
}

/// V7: They never come back.
#[tokio::test]
async fn failed_and_cancelled_runs_take_no_events() {
    for setup in both() {
        let world = started(setup).await;
        let (failed, cancelled) = (world.client().trip("failed"), world.client().trip("cancelled"));
        for run in [&failed, &cancelled] {
            run.start().await.unwrap();
        }
        failed.send(Go).await.unwrap();
        assert!(failed.result().await.is_err());
        cancelled.cancel().await.unwrap();
        assert!(cancelled.result().await.is_err());
        world.settle().await;
        for (run, phase, status) in
            [(&failed, RunPhase::Failed, "failed"), (&cancelled, RunPhase::Cancelled, "cancelled")]
        {
            let before = run.view().await.unwrap();
            let refused = run.send(Go).await.unwrap_err().failed().unwrap();
            assert_eq!(refused, SendError::Terminated { status: status.into() });
            world.restart().await;
            world.advance(d!("1d")).await;
            assert_eq!(run.status().await.unwrap().unwrap().phase, phase);
            assert_eq!(run.view().await.unwrap(), before, "nothing of it is stored");
            assert!(run.events().await.unwrap().is_empty());
        }
    }
}
