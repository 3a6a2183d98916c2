//! Types, options and names that change under a run: recorded values are kept, and a run that cannot
//! continue waits for code that can (W4, E10, E11).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Failure, Flow, Primitives, RunError, Services, d,
    testing::{Latch, Log},
    workflow,
    workflow::{RunPhase, Stopped},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// A version of a workflow whose types, options or steps differ.
macro_rules! version {
    ($module:ident, ($($option:tt)*), $state:item, $input:ty, $step:ident($attempts:literal) -> $output:ty, $value:expr, $sleep:literal) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            $state

            #[workflow($($option)*)]
            impl Order {
                async fn run(flow: &Flow<Self>, total: $input) -> Result<String, Failure> {
                    let first = flow.$step(format!("{total:?}")).await?;
                    flow.update(|order| order.at = Default::default());
                    flow.sleep($sleep).await;
                    Ok(format!("{first:?}"))
                }

                #[step(max_attempts = $attempts, backoff = "1m")]
                async fn $step(total: String, log: &Log, latch: &Latch) -> Result<$output, Failure> {
                    log.say(format!("{} {total}", stringify!($step)));
                    if total == "99" {
                        return Err("not yet".into());
                    }
                    if total == "77" {
                        latch.clone().wait().await;
                    }
                    Ok($value)
                }

                async fn at(&self) -> String {
                    format!("{:?}", self.at)
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

version!(first, (retention = "1d"), pub(super) struct Order { at: u32 }, u32, charge(2) -> u32, 7, "1h");
version!(other_state, (retention = "1d"), pub(super) struct Order { at: Vec<String> }, u32, charge(2) -> u32, 7, "1h");
version!(other_input, (retention = "1d"), pub(super) struct Order { at: u32 }, String, charge(2) -> u32, 7, "1h");
version!(other_output, (retention = "1d"), pub(super) struct Order { at: u32 }, u32, charge(2) -> String, "7".into(), "1h");
version!(other_options, (retention = "9d"), pub(super) struct Order { at: u32 }, u32, charge(4) -> u32, 7, "1h");
version!(renamed, (retention = "1d"), pub(super) struct Order { at: u32 }, u32, bill(2) -> u32, 7, "1h");
version!(other_sleep, (retention = "1d"), pub(super) struct Order { at: u32 }, u32, charge(2) -> u32, 7, "5h");

/// A version of the app without orders.
mod without {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Other;

    #[workflow]
    impl Other {
        async fn run(flow: &Flow<Self>) {
            flow.sleep("1s").await;
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        other: Other,
    }
}

/// Starts a run of the first version with this input, then opens the world with another version.
macro_rules! deployed {
    ($setup:expr, $total:expr, $module:ident) => {{
        let fakes = Fakes::default();
        let world = $setup.services(fakes.clone()).start::<first::App>().await;
        world.client().order("a").start($total).await.unwrap();
        fakes.log.take();
        (world.restart_as::<$module::App, _>(fakes.clone()).await.unwrap(), fakes)
    }};
}

/// E10, A4, fF8
#[tokio::test]
async fn a_run_is_parked_until_its_workflow_is_back() {
    for setup in both() {
        let (world, fakes) = deployed!(setup, 1, without);
        world.advance(d!("3h")).await;
        let view = world.view("order", "a").await.unwrap().unwrap();
        assert_eq!(view.meta.parked.as_deref(), Some("its definition is not registered"));
        let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(world.client().order("a").result().await.unwrap(), "7");
        assert!(fakes.log.take().is_empty(), "what is recorded is not done again");
    }
}

/// E10, A4, R1, fF9: each run is parked once and counted, and neither lost nor checked again and again.
#[tokio::test]
async fn a_thousand_runs_are_parked_until_their_workflow_is_back() {
    for setup in both() {
        let fakes = Fakes::default();
        let world = setup.services(fakes.clone()).start::<first::App>().await;
        for number in 0..1_000_u32 {
            world.client().order(format!("run-{number}")).start(number % 10).await.unwrap();
        }
        assert_eq!(fakes.log.take().len(), 1_000);
        let world = world.restart_as::<without::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("3h")).await;
        let parked = world.entities().parked().limit(1_000).await.unwrap();
        assert_eq!(parked.entities.len(), 1_000);
        assert_eq!(world.restart().await.parked, 1_000);
        let before = world.counts();
        world.advance(d!("6h")).await;
        assert_eq!(world.counts().since(before).commits, 0);
        let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1m")).await;
        assert!(world.entities().parked().await.unwrap().entities.is_empty());
        let ended = world.entities().status("succeeded").limit(1_000).await.unwrap();
        assert_eq!(ended.entities.len(), 1_000);
        assert!(fakes.log.take().is_empty(), "what is recorded is not done again");
    }
}

/// E10
#[tokio::test]
async fn a_state_of_another_type_is_made_anew_by_the_replay() {
    for setup in both() {
        let (world, _) = deployed!(setup, 1, other_state);
        let run = world.client().order("a");
        let refused = fault(run.at().await).to_string();
        assert!(refused.contains("its state cannot be read"), "{refused}");
        world.advance(d!("2h")).await;
        assert_eq!(run.result().await.unwrap(), "7");
    }
}

/// W4, E10: It is kept.
#[tokio::test]
async fn an_input_or_outcome_that_todays_types_cannot_read_stops_the_run() {
    for setup in both() {
        let (world, fakes) = deployed!(setup, 1, other_input);
        world.advance(d!("2h")).await;
        let status = world.client().order("a").status().await.unwrap().unwrap();
        let Some(Stopped::Diverged(divergence)) = status.stopped else { panic!("{status:?}") };
        assert_eq!((divergence.entry, divergence.expected.as_str()), (0, "its input"));
        let world = world.restart_as::<other_output::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2h")).await;
        let status = world.client().order("a").status().await.unwrap().unwrap();
        let Some(Stopped::Diverged(divergence)) = status.stopped else { panic!("{status:?}") };
        assert_eq!((divergence.entry, divergence.expected.as_str()), (1, "`charge#1`"));
        assert!(divergence.found.contains("invalid type: integer `7`, expected a string"), "{divergence}");
        let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2h")).await;
        assert_eq!(world.client().order("a").result().await.unwrap(), "7");
        assert!(fakes.log.take().is_empty());
    }
}

/// E11, W3
#[tokio::test]
async fn options_that_were_changed_hold_for_runs_that_are_under_way() {
    for setup in both() {
        let (world, fakes) = deployed!(setup, 99, other_options);
        world.advance(d!("10m")).await;
        let run = world.client().order("a");
        assert!(matches!(run.result().await, Err(CallError::Failed(RunError::Failed(_)))));
        assert_eq!(fakes.log.take().len(), 3, "once before, and three times of four since");
        world.advance(d!("8d")).await;
        assert!(run.status().await.unwrap().is_some(), "kept for nine days");
        world.advance(d!("1d")).await;
        assert_eq!(run.status().await.unwrap(), None);
    }
}

/// W4: Nothing is executed.
#[tokio::test]
async fn a_running_step_that_was_renamed_stops_the_run() {
    for setup in both() {
        let (world, fakes) = deployed!(setup, 77, renamed);
        fakes.latch.open();
        world.advance(d!("2h")).await;
        let status = world.client().order("a").status().await.unwrap().unwrap();
        let Some(Stopped::Diverged(divergence)) = status.stopped else { panic!("{status:?}") };
        assert_eq!(divergence.expected, "`charge#1`");
        assert!(divergence.likely.contains("renamed") || divergence.likely.contains("replaced"), "{divergence}");
        assert!(fakes.log.take().is_empty());
        let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2h")).await;
        assert_eq!(world.client().order("a").result().await.unwrap(), "7");
    }
}

/// W4, L3
#[tokio::test]
async fn a_run_whose_state_cannot_be_read_is_ended_all_the_same() {
    for setup in both() {
        let (world, _) = deployed!(setup, 1, other_state);
        let run = world.client().order("a");
        assert!(run.cancel().await.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Cancelled);
    }
}

/// H1, A5
#[tokio::test]
async fn a_sleep_that_began_ends_on_time_whatever_the_code_says() {
    for setup in both() {
        let (world, _) = deployed!(setup, 1, other_sleep);
        let (before, after) = (world.client().order("a"), world.client().order("b"));
        after.start(1).await.unwrap();
        world.advance(d!("59m")).await;
        assert_eq!(before.try_result().await.unwrap(), None);
        world.advance(d!("1m")).await;
        assert_eq!(before.try_result().await.unwrap().as_deref(), Some("7"));
        assert_eq!(after.try_result().await.unwrap(), None);
        world.advance(d!("4h")).await;
        assert_eq!(after.try_result().await.unwrap().as_deref(), Some("7"));
    }
}

/// A version of a workflow with a cleanup that uses the state.
macro_rules! cleaning {
    ($module:ident, $state:ty) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Order {
                at: $state,
            }

            #[workflow]
            impl Order {
                async fn run(flow: &Flow<Self>) {
                    flow.update(|order| order.at = Default::default());
                    flow.sleep("1h").await;
                }

                #[cancelled]
                async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
                    flow.tidy(flow.look(|order| format!("{:?}", order.at))).await;
                    Ok(())
                }

                #[step]
                async fn tidy(at: String, log: &Log) {
                    log.say(at);
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

cleaning!(cleans, u32);
cleaning!(cleans_otherwise, Vec<String>);

/// E10, L3
#[tokio::test]
async fn a_cleanup_whose_state_cannot_be_read_waits_for_code_that_can() {
    for setup in both() {
        let fakes = Fakes::default();
        let world = setup.services(fakes.clone()).start::<cleans::App>().await;
        world.client().order("a").start().await.unwrap();
        let world = world.restart_as::<cleans_otherwise::App, _>(fakes.clone()).await.unwrap();
        assert!(world.client().order("a").cancel().await.unwrap());
        let status = world.client().order("a").status().await.unwrap().unwrap();
        let Some(Stopped::Diverged(divergence)) = status.stopped else { panic!("it is stopped") };
        assert!(divergence.found.contains("at: invalid type"), "{divergence}");
        assert!(fakes.log.take().is_empty());
        let world = world.restart_as::<cleans::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2d")).await;
        assert_eq!(world.client().order("a").status().await.unwrap().unwrap().phase, RunPhase::Cancelled);
        assert_eq!(fakes.log.take(), ["0"]);
    }
}
