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

/// Brings itself into a state, and never takes a note.
#[derive(Default, Serialize, Deserialize)]
struct Moody;

#[workflow(events(Note, Other))]
impl Moody {
    async fn run(flow: &Flow<Self>, mood: String) -> Result<(), Failure> {
        match mood.as_str() {
            "runs" => flow.hangs().await,
            "waits" => {
                flow.wait_for::<Other>().await;
            }
            "panics" => panic!("as it is told"),
            "undoes" => {
                flow.books().await;
                return Err("as it is told".into());
            }
            _ => flow.sleep("1h").await,
        }
        Ok(())
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.hangs().await;
    }

    #[step]
    async fn hangs(latch: &Latch) {
        latch.clone().wait().await;
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
    moody: Moody,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Brings a run into a state and returns its phase.
async fn put(world: &World<App>, mood: &str) -> RunPhase {
    let run = world.client().moody(mood);
    run.start(mood.to_owned()).await.unwrap();
    match mood {
        "is paused" => assert!(run.pause().await.unwrap()),
        "is cancelled" => assert!(run.cancel().await.unwrap()),
        _ => {}
    }
    run.status().await.unwrap().unwrap().phase
}

/// V1, V2, V12
#[tokio::test]
async fn an_event_is_queued_whatever_its_run_is_at_and_stays_over_a_restart() {
    let moods = [
        ("runs", RunPhase::Running),
        ("sleeps", RunPhase::Suspended),
        ("waits", RunPhase::Suspended),
        ("panics", RunPhase::Panicked),
        ("undoes", RunPhase::Undoing),
        ("is paused", RunPhase::Paused),
        ("is cancelled", RunPhase::Cancelling),
    ];
    for setup in both() {
        let (world, _) = started(setup).await;
        for (mood, phase) in moods {
            assert_eq!(put(&world, mood).await, phase);
            let run = world.client().moody(mood);
            for number in 1..=2 {
                assert!(!run.send(Note(number)).await.unwrap().taken, "{mood}");
            }
        }
        world.restart().await;
        for (mood, phase) in moods {
            let run = world.client().moody(mood);
            let bodies: Vec<_> = run.events().await.unwrap().into_iter().map(|event| event.body).collect();
            assert_eq!(bodies, [1, 2], "{mood}");
            assert_eq!(run.status().await.unwrap().unwrap().phase, phase);
        }
    }
}

/// V1, D1
#[tokio::test]
async fn what_was_sent_to_a_run_on_its_way_out_is_a_dead_letter_when_it_is_out() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        for mood in ["undoes", "is cancelled"] {
            put(&world, mood).await;
            world.client().moody(mood).send(Note(1)).await.unwrap();
        }
        fakes.latch.open();
        world.settle().await;
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        let mut keys: Vec<_> = letters.into_iter().map(|letter| letter.key).collect();
        keys.sort();
        assert_eq!(keys, ["is cancelled", "undoes"]);
    }
}
