//! Versions of a body: a run keeps the branch that it has taken (R5).

#![allow(clippy::new_ret_no_self, reason = "a step may have any name")]
#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Event, Flow, Primitives, Services, d,
    testing::{Log, Setup, World, replay},
    workflow,
    workflow::{RunPhase, Stopped},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// A deployment: a body, with the steps that all deployments have.
macro_rules! deployment {
    ($module:ident, |$flow:ident, $rounds:ident| $body:expr) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Fees;

            #[workflow(events(Go))]
            impl Fees {
                #[allow(unused_variables)]
                async fn run($flow: &Flow<Self>, $rounds: u32) -> String {
                    $body
                }

                #[step]
                async fn old(number: u32, log: &Log) -> String {
                    log.say(format!("old {number}"));
                    format!("old{number}")
                }

                #[step]
                async fn new(number: u32, log: &Log) -> String {
                    log.say(format!("new {number}"));
                    format!("new{number}")
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                fees: Fees,
            }
        }
    };
}

// Before the change: a step, a wait, and the same again.
deployment!(before, |flow, rounds| {
    flow.wait_for::<Go>().await;
    let mut said = Vec::new();
    for number in 0..rounds {
        said.push(flow.old(number).await);
        flow.wait_for::<Go>().await;
    }
    said.join(" ")
});

// The change.
deployment!(after, |flow, rounds| {
    flow.wait_for::<Go>().await;
    let mut said = Vec::new();
    for number in 0..rounds {
        said.push(match flow.version("new-fees", 1..=2) {
            1 => flow.old(number).await,
            _ => flow.new(number).await,
        });
        flow.wait_for::<Go>().await;
    }
    said.join(" ")
});

// The old branch is gone.
deployment!(later, |flow, rounds| {
    flow.wait_for::<Go>().await;
    let mut said = Vec::new();
    for number in 0..rounds {
        flow.version("new-fees", 2..=3);
        said.push(flow.new(number).await);
        flow.wait_for::<Go>().await;
    }
    said.join(" ")
});

// The call of `version` is gone.
deployment!(last, |flow, rounds| {
    flow.wait_for::<Go>().await;
    let mut said = Vec::new();
    for number in 0..rounds {
        said.push(flow.new(number).await);
        flow.wait_for::<Go>().await;
    }
    said.join(" ")
});

// The same in branches, before and after the change.
deployment!(branches_before, |flow, rounds| {
    let (one, two) = join!(
        async {
            let one = flow.old(1).await;
            flow.wait_for::<Go>().await;
            one
        },
        async {
            flow.sleep("1h").await;
            flow.old(2).await
        }
    );
    format!("{one} {two}")
});

deployment!(branches_after, |flow, rounds| {
    let (one, two) = join!(
        async {
            let one = match flow.version("left", 1..=2) {
                1 => flow.old(1).await,
                _ => flow.new(1).await,
            };
            flow.wait_for::<Go>().await;
            one
        },
        async {
            flow.sleep("1h").await;
            match flow.version("right", 1..=2) {
                1 => flow.old(2).await,
                _ => flow.new(2).await,
            }
        }
    );
    format!("{one} {two}")
});

// A range that contains no version.
deployment!(empty, |flow, rounds| {
    #[allow(clippy::reversed_empty_ranges)]
    let version = flow.version("none", 2..=1);
    version.to_string()
});

async fn before(setup: Setup<()>, rounds: u32) -> (World<before::App>, Fakes) {
    let fakes = Fakes::default();
    let world = setup.services(fakes.clone()).start::<before::App>().await;
    world.client().fees("a").start(rounds).await.unwrap();
    (world, fakes)
}

/// Sends this many events.
macro_rules! go {
    ($world:expr, $count:expr) => {
        for _ in 0..$count {
            $world.client().fees("a").send(Go).await.unwrap();
            $world.settle().await;
        }
    };
}

/// R5: In every round.
#[tokio::test]
async fn a_run_that_arrives_first_keeps_the_highest_version() {
    for setup in both() {
        let (world, fakes) = before(setup, 2).await;
        let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
        let before = world.counts();
        go!(world, 1);
        assert_eq!(
            world.counts().since(before).commits,
            2,
            "the event and the step: a version is no commit of its own"
        );
        world.restart().await;
        go!(world, 1);
        world.restart().await;
        go!(world, 1);
        let run = world.client().fees("a");
        assert_eq!(run.result().await.unwrap(), "new0 new1");
        let history = run.history().await.unwrap();
        replay::<after::Fees>(&history).unwrap();
        let saved = drystone::workflow::History::from_json(&history.to_json().unwrap()).unwrap();
        replay::<after::Fees>(&saved).unwrap();
        replay::<last::Fees>(&saved).unwrap();
    }
}

/// R5, fF3: In every round.
#[tokio::test]
async fn a_run_that_was_past_it_keeps_the_lowest_version() {
    for gone in 1..=2 {
        for setup in both() {
            let (world, fakes) = before(setup, 3).await;
            go!(world, gone);
            let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
            go!(world, 1);
            world.restart().await;
            go!(world, 3 - gone);
            let run = world.client().fees("a");
            assert_eq!(run.result().await.unwrap(), "old0 old1 old2", "gone past it {gone} times");
            replay::<after::Fees>(&run.history().await.unwrap()).unwrap();
        }
    }
}

/// R5
#[tokio::test]
async fn a_history_from_before_replays_on_its_old_branch() {
    let (world, _) = before(World::memory(), 2).await;
    go!(world, 2);
    let history = world.client().fees("a").history().await.unwrap();
    replay::<after::Fees>(&history).unwrap();
    replay::<later::Fees>(&history).unwrap_err();
}

/// R5, W4: A message says so.
#[tokio::test]
async fn a_version_that_is_not_supported_stops_the_run() {
    for setup in both() {
        let (world, fakes) = before(setup, 2).await;
        go!(world, 1);
        let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
        go!(world, 1);
        fakes.log.take();
        let world = world.restart_as::<later::App, _>(fakes.clone()).await.unwrap();
        go!(world, 1);
        let status = world.client().fees("a").status().await.unwrap().unwrap();
        let Some(Stopped::Diverged(divergence)) = status.stopped else { panic!("it is stopped: {status:?}") };
        let text = divergence.to_string();
        assert!(text.contains("version 1 of `new-fees`") && text.contains("supports versions 2 to 3"), "{text}");
        assert!(fakes.log.take().is_empty(), "nothing was executed");
        let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(world.client().fees("a").result().await.unwrap(), "old0 old1", "with code that has it it goes on");
    }
}

/// R5: The old code and the call are gone.
#[tokio::test]
async fn a_run_pinned_to_a_later_version_outlives_the_old_code() {
    for setup in both() {
        let fakes = Fakes::default();
        let world = setup.services(fakes.clone()).start::<after::App>().await;
        world.client().fees("a").start(3).await.unwrap();
        go!(world, 1);
        let world = world.restart_as::<later::App, _>(fakes.clone()).await.unwrap();
        go!(world, 1);
        let world = world.restart_as::<last::App, _>(fakes.clone()).await.unwrap();
        go!(world, 2);
        assert_eq!(world.client().fees("a").result().await.unwrap(), "new0 new1 new2");
    }
}

/// R5, L7
#[tokio::test]
async fn each_branch_knows_whether_it_had_gone_past_its_place() {
    for setup in both() {
        let fakes = Fakes::default();
        let world = setup.services(fakes.clone()).start::<branches_before::App>().await;
        world.client().fees("a").start(0).await.unwrap();
        world.settle().await;
        let world = world.restart_as::<branches_after::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1h")).await;
        world.restart().await;
        go!(world, 1);
        let run = world.client().fees("a");
        assert_eq!(run.result().await.unwrap(), "old1 new2");
        replay::<branches_after::Fees>(&run.history().await.unwrap()).unwrap();
    }
}

/// R5, L4: A generation that keeps results keeps their version.
#[tokio::test]
async fn a_new_generation_takes_the_highest_version() {
    for setup in both() {
        let (world, fakes) = before(setup, 2).await;
        go!(world, 3);
        let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
        let run = world.client().fees("a");
        fakes.log.take();
        run.restart_from(|at| at.old(2)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["old 1"], "the first round was old");
        run.restart().await.unwrap();
        go!(world, 1);
        assert_eq!(fakes.log.take(), ["new 0"]);
    }
}

/// R5, L4
#[tokio::test]
async fn what_a_restart_does_not_keep_chooses_its_version_anew() {
    for setup in both() {
        let (world, fakes) = before(setup, 2).await;
        go!(world, 2);
        let world = world.restart_as::<after::App, _>(fakes.clone()).await.unwrap();
        go!(world, 1); // the run is pinned to its version
        let run = world.client().fees("a");
        assert_eq!(fakes.log.take(), ["old 0", "old 1"]);
        run.restart_from(|at| at.old(1)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["new 0"], "nothing of it was kept");
    }
}

/// R5
#[tokio::test]
async fn a_range_without_a_version_stops_the_run() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<empty::App>().await;
    let run = world.client().fees("a");
    run.start(0).await.unwrap();
    let status = run.status().await.unwrap().unwrap();
    assert_eq!(status.phase, RunPhase::Panicked);
    let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("with its words") };
    assert!(message.contains("has no version"), "{message}");
}
