//! A run that is cancelled or terminated (L3).

use super::*;

#[derive(Primitives)]
struct App {
    messy: Messy,
    job: Job,
    plain: Plain,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L3
#[tokio::test]
async fn a_cancelled_run_ends_its_steps_then_cleans_up_then_is_cancelled() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert!(!run.cancel().await.unwrap(), "true once");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Cancelling);
        assert_eq!(fakes.log.take(), ["work slow"]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["was working"], "the body was dropped where it was");
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["done"]);
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(run.at().await.unwrap(), "clean");
        assert!(!run.cancel().await.unwrap());
        let history = run.history().await.unwrap();
        assert_eq!(history.operations().collect::<Vec<_>>(), ["work#1", "!/tidy#1", "!/sleep#1", "!/tidy#2"]);
    }
}

/// L3
#[tokio::test]
async fn a_cancelled_run_that_abandons_its_steps_does_not_wait_for_them() {
    for (setup, was_asked_before) in both().zip([true, true]).chain(both().zip([false, false])) {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert_eq!(fakes.log.take(), ["work slow"]);
        if was_asked_before {
            assert!(run.cancel().await.unwrap());
            world.restart().await;
            assert_eq!(fakes.log.take(), ["work slow"], "it waits for its step, which runs again");
        }
        assert!(run.cancel_abandoning_steps().await.unwrap());
        assert!(!run.cancel_abandoning_steps().await.unwrap() && !run.cancel().await.unwrap(), "true once");
        assert_eq!(fakes.log.take(), ["was working"], "the step was dropped, and its run cleans up");
        fakes.latch.open();
        world.settle().await;
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["done"]);
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "it has ended");
        let history = run.history().await.unwrap();
        let operations: Vec<_> = history.operations().collect();
        assert_eq!(operations, ["!/tidy#1", "!/sleep#1", "!/tidy#2"], "nothing is known of the step");
        drystone::testing::replay::<Job>(&history).unwrap();
    }
}

/// L3
#[tokio::test]
async fn what_a_cancelled_run_does_on_its_way_out_is_not_abandoned() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "there is none");
        run.start("quick".into()).await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "its `#[cancelled]` body sleeps");
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["work quick", "was waiting", "done"]);
        assert_eq!(run.at().await.unwrap(), "clean");
    }
}

/// A workflow whose cleanup fails.
#[derive(Default, Serialize, Deserialize)]
struct Messy;

#[workflow]
impl Messy {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1h").await;
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.stumble().await;
        Ok(())
    }

    #[step(max_attempts = 1)]
    async fn stumble(log: &Log) {
        log.say("stumbles");
        panic!("over it");
    }
}

/// L3
#[tokio::test]
async fn a_fault_of_the_cleanup_does_not_prevent_the_cancel() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().messy("a");
        run.start().await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert_eq!(run.result().await.unwrap_err().failed().unwrap(), RunError::<Never>::Cancelled);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Cancelled);
        assert!(status.cleanup_error.unwrap().contains("over it"));
        drystone::testing::replay::<Messy>(&run.history().await.unwrap()).unwrap();
    }
}

/// A workflow without a cleanup.
#[derive(Default, Serialize, Deserialize)]
struct Plain;

#[workflow]
impl Plain {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1h").await;
    }
}

/// L3
#[tokio::test]
async fn a_run_that_is_not_in_memory_is_cancelled_and_terminated() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in ["a", "b"] {
            world.client().plain(key).start().await.unwrap();
        }
        world.restart().await;
        assert!(world.client().plain("a").cancel().await.unwrap());
        assert!(world.client().plain("b").terminate().await.unwrap());
        let ended = |key: &'static str| world.client().plain(key).result();
        assert_eq!(ended("a").await.unwrap_err().failed().unwrap(), RunError::<Never>::Cancelled);
        assert_eq!(ended("b").await.unwrap_err().failed().unwrap(), RunError::<Never>::Terminated);
        world.advance(d!("2h")).await;
        assert_eq!(world.client().plain("a").status().await.unwrap().unwrap().phase, RunPhase::Cancelled);
    }
}

/// L3
#[tokio::test]
async fn a_terminated_run_ends_at_once_with_all_its_waits() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert!(run.terminate().await.unwrap());
        assert!(!run.terminate().await.unwrap());
        fakes.latch.open();
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Terminated);
        assert!(run.send(Note(1)).await.is_err());
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Terminated, 0));
        assert_eq!(
            world.view("job", "a").await.unwrap().unwrap().meta.alarm.map(|at| at > world.now()),
            Some(true),
            "only its retention"
        );
    }
}

/// L3, W9, fC19
#[tokio::test]
async fn a_step_that_ends_during_a_terminate_is_dropped_and_counted() {
    for abandons in [false, true] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().job("a");
            run.start("slow".into()).await.unwrap();
            // The result of the step arrives when the end of the run is decided but not durable yet.
            world.store_fails(Fault::Down);
            let comes = async {
                world.settle().await;
                fakes.latch.open();
                world.advance(d!("1s")).await;
                world.store_works();
                world.advance(d!("3m")).await;
            };
            let ends = async { if abandons { run.cancel_abandoning_steps().await } else { run.terminate().await } };
            let (ended, ()) = tokio::join!(ends, comes);
            assert!(ended.unwrap());
            let (phase, error) = if abandons {
                (RunPhase::Cancelled, RunError::Cancelled)
            } else {
                (RunPhase::Terminated, RunError::Terminated)
            };
            assert_eq!(failed(run.result().await), error);
            let status = run.status().await.unwrap().unwrap();
            assert_eq!((status.phase, status.late), (phase, 1));
        }
    }
}

/// L3, fC6
#[tokio::test]
async fn of_a_cancel_and_an_end_the_first_counts() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("quick".into()).await.unwrap();
    let (sent, cancelled) = tokio::join!(run.send(Note(1)).into_future(), run.cancel().into_future());
    assert!(sent.unwrap().taken);
    assert!(!cancelled.unwrap());
    assert_eq!(run.result().await.unwrap(), "quick 1");
    let other = world.client().job("b");
    other.start("quick".into()).await.unwrap();
    let (cancelled, sent) = tokio::join!(other.cancel().into_future(), other.send(Note(1)).into_future());
    assert!(cancelled.unwrap());
    assert!(!sent.unwrap().taken, "a run on its way out still takes events in");
    world.advance(d!("1m")).await;
    assert_eq!(failed(other.result().await), RunError::Cancelled);
}
