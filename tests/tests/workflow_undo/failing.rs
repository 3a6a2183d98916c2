//! A failing run undoes its steps (W9).

use super::*;

#[derive(Primitives)]
struct App {
    trip: Trip,
    loser: Loser,
    guest: Guest,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// W9: The run then fails with its own error.
#[tokio::test]
async fn a_run_that_fails_undoes_its_steps_the_last_first() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), pay("visa"), book("room"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()));
        let expected = [
            "book train",
            "pay visa",
            "book room",
            "unbook room-ticket",
            "refund visa 7 Some(\"7 by visa\")",
            "unbook train-ticket",
        ];
        assert_eq!(fakes.log.take(), expected);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.undos_left, status.undos_failed.len()), (RunPhase::Failed, 0, 0));
        assert_eq!(run.state().await.unwrap(), Some(Trip { done: 3 }));
        let history = run.history().await.unwrap();
        let undone: Vec<_> = history.operations().skip(3).collect();
        assert_eq!(undone, ["undo/book#2/unbook#1", "undo/pay#1/refund#1", "undo/book#1/unbook#1"]);
        replay::<Trip>(&history).unwrap();
    }
}

/// W9
#[tokio::test]
async fn a_run_that_succeeds_or_is_terminated_undoes_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), pay("visa")]).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 2);
        assert_eq!(fakes.log.take(), ["book train", "pay visa"]);
        assert_eq!(run.status().await.unwrap().unwrap().undos_left, 0);
        let run = world.client().trip("b");
        run.start(vec![book("train"), Do::Wait]).await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().undos_left, 1);
        assert!(run.terminate().await.unwrap());
        world.advance(d!("2d")).await;
        assert_eq!(fakes.log.take(), ["book train"]);
    }
}

/// W9: It is not due where the step failed.
#[tokio::test]
async fn an_undo_with_the_input_is_due_for_an_unknown_outcome() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        let race = Do::Race("declined".to_owned());
        run.start(vec![pay("hangs"), pay("panics"), pay("declined"), race, Do::Fail]).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()));
        let said = fakes.log.take();
        assert_eq!(said[4..], ["refund panics 7 None", "refund hangs 7 None"]);
    }
}

/// Waits for a door to open, then knocks at a door that stays shut.
#[derive(Default, Serialize, Deserialize)]
struct Guest;

#[workflow]
impl Guest {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.wait().await;
        flow.knock(3).await
    }

    #[step]
    async fn wait(latch: &Latch) {
        latch.clone().wait().await;
    }

    #[step(max_attempts = 3, backoff = "1h", undo = unknock)]
    async fn knock(times: u32, log: &Log) -> Result<(), Failure> {
        log.say(format!("knock {times}"));
        Err("nobody".into())
    }

    #[step]
    async fn unknock(times: u32, knocked: Option<()>, log: &Log) {
        log.say(format!("unknock {times} {knocked:?}"));
    }
}

/// W9, L3
#[tokio::test]
async fn a_step_that_is_known_not_to_have_happened_is_not_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let held = world.client().guest("held");
        held.start().await.unwrap();
        world.settle().await;
        assert!(held.pause().await.unwrap());
        fakes.latch.open();
        world.settle().await;
        assert_eq!(held.status().await.unwrap().unwrap().waits_for[0].operation, "knock#1");
        assert!(held.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(failed(held.result().await), RunError::Cancelled);
        assert!(fakes.log.take().is_empty(), "it never began");

        let run = world.client().guest("in its pause");
        run.start().await.unwrap();
        world.settle().await;
        assert!(run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(fakes.log.take(), ["knock 3"], "it failed, and that is known");
    }
}

/// A workflow whose step loses a race while it runs.
#[derive(Default, Serialize, Deserialize)]
struct Loser;

#[workflow]
impl Loser {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        let mut kept = flow.grab(2);
        select! {
            _ = flow.grab(1) => {},
            _ = &mut kept => {},
            _ = flow.sleep("5s") => {},
        }
        Err("too late".into())
    }

    #[step(undo = release)]
    async fn grab(number: u32, log: &Log, latch: &Latch) -> bool {
        log.say(format!("grab {number}"));
        latch.clone().wait().await;
        true
    }

    #[step]
    async fn release(number: u32, grabbed: Option<bool>, log: &Log) {
        log.say(format!("release {number} {grabbed:?}"));
    }
}

/// W9, L7: A step that never began is not.
#[tokio::test]
async fn a_running_step_that_lost_a_race_is_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), Do::Lose("visa".into()), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()));
        assert_eq!(fakes.log.take(), ["book train", "unbook train-ticket"]);
    }
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().loser("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(failed(run.result().await), RunError::Failed("too late".into()));
        // The step that the body still held when it returned had been asked for first.
        assert_eq!(fakes.log.take(), ["grab 1", "grab 2", "release 2 None", "release 1 None"]);
    }
}

/// W9: The phase of the run is `Undoing`.
#[tokio::test]
async fn an_undoing_run_takes_no_cancel_and_survives_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), book("slow"), pay("visa"), Do::Panic]).await.unwrap();
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.undos_left), (RunPhase::Undoing, 2));
        assert_eq!(status.waits_for[0].operation, "undo/book#2/unbook#1");
        assert_eq!(world.view("trip", "a").await.unwrap().unwrap().meta.status, "undoing");
        assert!(!run.cancel().await.unwrap());
        world.restart().await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Undoing);
        fakes.latch.open();
        world.settle().await;
        assert!(matches!(failed(run.result().await), RunError::Fault(fault) if fault.step == "stumble#1"));
        let said = fakes.log.take();
        let undone =
            ["refund visa 7 Some(\"7 by visa\")", "unbook slow-ticket", "unbook slow-ticket", "unbook train-ticket"];
        assert_eq!(said[3..], undone, "the one that the crash cut short runs again, and no other");
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// W9, W3: Each undo has attempts of its own, and the failure is reported.
#[tokio::test]
async fn an_undo_that_fails_for_good_does_not_block_others() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), book("firm"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["book train", "book firm", "unbook firm-ticket"]);
        world.events();
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["unbook firm-ticket", "unbook train-ticket"]);
        assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()));
        let status = run.status().await.unwrap().unwrap();
        let [undo] = &status.undos_failed[..] else { panic!("{status:?}") };
        assert_eq!((&*undo.operation, &*undo.undo), ("book#2", "unbook"));
        assert_eq!(undo.error.to_string(), "not refundable");
        assert_eq!(names(&world.events()), ["workflow.undo_failed", "workflow.failed"]);
    }
}

/// W9: It is gone when the run has ended.
#[tokio::test]
async fn a_long_input_is_kept_for_its_undo() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        let long = format!("visa {}", "x".repeat(100_000));
        run.start(vec![pay(&long), pay(&format!("panics {}", "y".repeat(5_000))), Do::Wait]).await.unwrap();
        world.settle().await;
        world.restart().await;
        assert!(run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(fakes.log.take()[2..], ["refund panics 7 None", "refund visa 7 Some(\"7 by visa\")", "cleanup"]);
    }
}

/// W9, R1
#[tokio::test]
async fn a_death_at_any_commit_undoes_each_step_once_in_order() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=12 {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().trip("a");
            world.crash_at_commit(n, moment);
            for _ in 0..2 {
                let plan = vec![book("train"), pay("visa"), book("room"), Do::Fail];
                let _ = run.start(plan).idempotency_key("start").await;
                world.advance(d!("2m")).await;
                world.restart().await;
            }
            world.advance(d!("2m")).await;
            let when = format!("death {moment:?} commit {n}");
            assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()), "{when}");
            let mut said = fakes.log.take();
            assert!((6..=7).contains(&said.len()), "{when}: {said:?}");
            said.dedup();
            let undone = ["unbook room-ticket", "refund visa 7 Some(\"7 by visa\")", "unbook train-ticket"];
            assert_eq!(said[3..], undone, "{when}");
            let history = run.history().await.unwrap();
            let operations: Vec<_> = history.operations().collect();
            let undos = ["undo/book#2/unbook#1", "undo/pay#1/refund#1", "undo/book#1/unbook#1"];
            assert_eq!(operations[3..], undos, "{when}");
            replay::<Trip>(&history).unwrap();
        }
    }
}
