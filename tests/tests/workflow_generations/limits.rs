//! Many generations, long ones, and generations of a run that is cancelled (L3, L5, W11).

use super::*;

#[derive(Primitives)]
struct App {
    ledger: Ledger,
    spinner: Spinner,
    order: Order,
    greedy: Greedy,
    walker: Walker,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// Continues at once, this many times.
#[derive(Default, Serialize, Deserialize)]
struct Spinner;

#[workflow]
impl Spinner {
    async fn run(flow: &Flow<Self>, left: u32) -> u64 {
        if left > 0 {
            return flow.continue_as(left - 1).await;
        }
        flow.spun().await;
        flow.random()
    }

    #[step]
    async fn spun(log: &Log) {
        log.say("spun");
    }

    fn nudge(&mut self, by: u32) -> u32 {
        by + 1
    }
}

/// L5, R8
#[tokio::test]
async fn ten_thousand_generations_leave_nothing_behind_and_starve_nobody() {
    let (world, fakes) = started(World::memory()).await;
    let (run, other) = (world.client().spinner("a"), world.client().order("b"));
    let (one, two) = tokio::join!(run.start(10_000).into_future(), other.start("other".into()).into_future());
    one.and(two).unwrap();
    let said = fakes.log.take();
    assert_eq!(said.last().unwrap(), "spun", "the other had its turns meanwhile: {said:?}");
    let status = run.status().await.unwrap().unwrap();
    assert_eq!((status.phase, status.generation, status.entries), (RunPhase::Succeeded, 10_001, 3));
    assert_eq!(run.history().await.unwrap().len(), 3);
}

/// L5, L8
#[tokio::test]
async fn a_generation_that_waits_for_its_turn_takes_an_update() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().spinner("a");
        let (started, nudged) = tokio::join!(run.start(2).into_future(), run.nudge(1).into_future());
        started.unwrap();
        assert_eq!(nudged.unwrap(), 2);
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation, status.entries), (RunPhase::Succeeded, 3, 4));
        assert_eq!(fakes.log.take(), ["spun"]);
    }
}

/// L5, K6
#[tokio::test]
async fn the_file_does_not_grow_with_its_generations() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("app.db");
    let (world, _) = started(World::sqlite_at(&path)).await;
    let size = || std::fs::metadata(&path).unwrap().len();
    let run = world.client().ledger("a");
    run.start(1, 0).await.unwrap();
    let mut sizes = Vec::new();
    for _ in 0..3 {
        for _ in 0..60 {
            run.send(Deposit(1)).await.unwrap();
            world.advance(d!("10s")).await;
        }
        world.restart().await;
        sizes.push(size());
    }
    assert_eq!(run.status().await.unwrap().unwrap().generation, 181);
    assert_eq!(sizes[1], sizes[2], "{sizes:?}");
}

/// A workflow whose next generation is too long to be stored, and that tries to continue while it is
/// cancelled.
#[derive(Default, Serialize, Deserialize)]
struct Greedy;

#[workflow]
impl Greedy {
    async fn run(flow: &Flow<Self>, text: String) -> u32 {
        flow.sleep("1m").await;
        flow.continue_as(text.repeat(2_000_000)).await
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.continue_as("again".into()).await;
    }
}

/// L5, W11
#[tokio::test]
async fn a_next_generation_that_is_too_long_fails_the_run() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().greedy("a");
    run.start("x".into()).await.unwrap();
    world.advance(d!("1m")).await;
    let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("it fails") };
    assert!(fault.to_string().contains("next generation"), "{fault}");
}

/// L3
#[tokio::test]
async fn a_run_that_is_cancelled_does_not_go_on_as_another() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().greedy("a");
    run.start("x".into()).await.unwrap();
    assert!(run.cancel().await.unwrap());
    let status = run.status().await.unwrap().unwrap();
    assert_eq!((status.phase, status.generation), (RunPhase::Cancelled, 1));
    assert!(status.cleanup_error.unwrap().contains("new generation"));
}

/// Sleeps until this many times in the past, then waits.
#[derive(Default, Serialize, Deserialize)]
struct Walker;

#[workflow]
impl Walker {
    async fn run(flow: &Flow<Self>, points: u32) {
        for _ in 0..points {
            flow.sleep_until(Timestamp::from_millis(0)).await;
        }
        flow.sleep("1d").await;
    }
}

/// L2, L4
#[tokio::test]
async fn all_pages_of_a_history_are_of_one_generation() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().walker("a");
        run.start(600).await.unwrap();
        world.settle().await;
        let (history, restarted) = tokio::join!(run.history(), run.restart_with(3).into_future());
        assert_eq!(restarted.unwrap().generation, 2);
        assert_eq!(history.unwrap().operations().count(), 3);
    }
}
