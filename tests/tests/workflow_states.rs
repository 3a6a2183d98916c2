//! An event reaches its run in every state of the run (V1, D1).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Event, Failure, Flow, Primitives, Services,
    dead_letters::Filter,
    testing::{Latch, Setup, World},
    workflow,
    workflow::RunPhase,
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    latch: Latch,
}

#[derive(Event, Serialize, Deserialize)]
struct Note(u32);

#[derive(Event, Serialize, Deserialize)]
struct Other;

/// Executes a step.
#[derive(Default, Serialize, Deserialize)]
struct Runs;

#[workflow(events(Note))]
impl Runs {
    async fn run(flow: &Flow<Self>) {
        flow.hangs().await;
    }

    #[step]
    async fn hangs(latch: &Latch) {
        latch.clone().wait().await;
    }
}

/// Sleeps. Its cleanup executes a step.
#[derive(Default, Serialize, Deserialize)]
struct Sleeps;

#[workflow(events(Note))]
impl Sleeps {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1h").await;
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.hangs().await;
    }

    #[step]
    async fn hangs(latch: &Latch) {
        latch.clone().wait().await;
    }
}

/// Waits for another event.
#[derive(Default, Serialize, Deserialize)]
struct Waits;

#[workflow(events(Note, Other))]
impl Waits {
    async fn run(flow: &Flow<Self>) {
        flow.wait_for::<Other>().await;
    }
}

/// Panics.
#[derive(Default, Serialize, Deserialize)]
struct Panics;

#[workflow(events(Note))]
impl Panics {
    async fn run(_flow: &Flow<Self>) {
        panic!("as it is told")
    }
}

/// Fails, and undoes its step.
#[derive(Default, Serialize, Deserialize)]
struct Undoes;

#[workflow(events(Note))]
impl Undoes {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.books().await;
        Err("as it is told".into())
    }

    #[step(undo = unbooks)]
    async fn books() -> u32 {
        1
    }

    #[step]
    async fn unbooks(_number: u32, latch: &Latch) {
        latch.clone().wait().await;
    }
}

#[derive(Primitives)]
struct App {
    runs: Runs,
    sleeps: Sleeps,
    waits: Waits,
    panics: Panics,
    undoes: Undoes,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Checks that events to a run in this phase are queued, and stay queued over a restart. The change brings
/// the run into its phase.
macro_rules! events_are_queued {
    ($workflow:ident, $phase:expr $(, $change:ident)?) => {
        for setup in both() {
            let (world, _) = started(setup).await;
            let run = world.client().$workflow("a");
            run.start().await.unwrap();
            $(assert!(run.$change().await.unwrap());)?
            assert_eq!(run.status().await.unwrap().unwrap().phase, $phase);
            for number in 1..=2 {
                assert!(!run.send(Note(number)).await.unwrap().taken);
            }
            world.restart().await;
            let bodies: Vec<_> = run.events().await.unwrap().into_iter().map(|event| event.body).collect();
            assert_eq!(bodies, [1, 2]);
            assert_eq!(run.status().await.unwrap().unwrap().phase, $phase);
        }
    };
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_executes_a_step() {
    events_are_queued!(runs, RunPhase::Running);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_sleeps() {
    events_are_queued!(sleeps, RunPhase::Suspended);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_waits_for_another_event() {
    events_are_queued!(waits, RunPhase::Suspended);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_is_stopped_by_a_panic() {
    events_are_queued!(panics, RunPhase::Panicked);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_undoes_its_steps() {
    events_are_queued!(undoes, RunPhase::Undoing);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_is_paused() {
    events_are_queued!(sleeps, RunPhase::Paused, pause);
}

/// V1, V2, V12
#[tokio::test]
async fn events_are_queued_while_a_run_is_cancelled() {
    events_are_queued!(sleeps, RunPhase::Cancelling, cancel);
}

/// V1, D1
#[tokio::test]
async fn an_event_to_a_run_that_is_ending_becomes_a_dead_letter() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (undoes, cancelled) = (world.client().undoes("undoes"), world.client().sleeps("is cancelled"));
        undoes.start().await.unwrap();
        undoes.send(Note(1)).await.unwrap();
        cancelled.start().await.unwrap();
        assert!(cancelled.cancel().await.unwrap());
        cancelled.send(Note(1)).await.unwrap();
        fakes.latch.open();
        world.settle().await;
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        let mut keys: Vec<_> = letters.into_iter().map(|letter| letter.key).collect();
        keys.sort();
        assert_eq!(keys, ["is cancelled", "undoes"]);
    }
}
