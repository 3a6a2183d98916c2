//! How a pause ends, and runs that are stopped (H1, H3, W7).

use super::*;

#[derive(Primitives)]
struct App {
    job: Job,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// H2, L3
#[tokio::test]
async fn a_run_that_is_paused_can_be_cancelled_and_terminated() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (one, two, three) = (world.client().job("a"), world.client().job("b"), world.client().job("c"));
        for run in [&one, &two, &three] {
            run.start("slow".into()).await.unwrap();
            run.pause().await.unwrap();
        }
        fakes.log.take();
        assert!(one.terminate().await.unwrap());
        assert!(two.cancel().await.unwrap());
        assert!(!two.pause().await.unwrap(), "it is on its way out");
        assert_eq!(two.status().await.unwrap().unwrap().phase, RunPhase::Cancelling, "its step ends first");
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["tidy"]);
        assert!(three.cancel().await.unwrap(), "a step that has not begun is not waited for");
        assert_eq!(fakes.log.take(), ["tidy"]);
        let ended = |run: &JobHandle| run.result().into_future();
        for (run, expected) in [(one, RunError::Terminated), (two, RunError::Cancelled), (three, RunError::Cancelled)] {
            let error = ended(&run).await.unwrap_err().failed().unwrap();
            assert_eq!(error, expected);
            assert!(!run.pause().await.unwrap() && !run.resume().await.unwrap());
        }
    }
}

/// H2, L4
#[tokio::test]
async fn a_restart_ends_a_pause() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("slow".into()).await.unwrap();
    run.pause().await.unwrap();
    run.restart_with("quick".into()).await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take(), ["slow", "quick", "quick+"]);
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
}

/// H2, E13
#[tokio::test]
async fn a_pause_is_whole_or_not_at_all() {
    for moment in [Moment::Before, Moment::After] {
        let (world, _) = started(World::memory()).await;
        let run = world.client().job("a");
        run.start("quick".into()).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, moment);
        assert!(run.pause().await.is_err());
        world.restart().await;
        world.advance(d!("1h")).await;
        let expected = if matches!(moment, Moment::Before) { 2 } else { 1 };
        assert_eq!(run.state().await.unwrap().unwrap().at, expected);
    }
}

/// Code that panics after the sleep, and mended code.
mod panics {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Job {
        at: u32,
    }

    #[workflow(events(Note))]
    impl Job {
        async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
            let one = flow.work(name).await;
            flow.work(one).await;
            flow.sleep("1h").await;
            panic!("at that");
        }

        #[step]
        async fn work(name: String) -> String {
            format!("{name}+")
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        job: Job,
    }
}

/// H2, L1
#[tokio::test]
async fn a_stopped_run_can_be_paused_and_continues_with_one_resume() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().job("a").start("quick".into()).await.unwrap();
        world.settle().await;
        let world = world.restart_as::<panics::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1h")).await;
        let run = world.client().job("a");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
        assert!(run.pause().await.unwrap());
        let world = world.restart_as::<App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("3h")).await;
        let run = world.client().job("a");
        let status = run.status().await.unwrap().unwrap();
        assert!(status.phase == RunPhase::Paused && status.stopped.is_some());
        run.send(Note(1)).await.unwrap();
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), "quick++ Some(1)");
    }
}
