//! A restart of a run with steps that are or were undone (L4, W9).

use super::*;

#[derive(Primitives)]
struct App {
    trip: Trip,
    late: Late,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L4, W9
#[tokio::test]
async fn a_restart_from_a_step_does_not_begin_among_its_undos() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), Do::Fail]).await.unwrap();
        world.settle().await;
        let refused = run.restart_from(|at| at.unbook(1)).await.unwrap_err().failed().unwrap();
        assert_eq!(refused, RestartError::NoSuchStep { step: "unbook".into(), nth: 1, found: 0 });
        assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
        fakes.log.take();
        run.restart_from(|at| at.book(1)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["book train", "unbook train-ticket"]);
        assert_eq!(failed(run.result().await), RunError::Failed("no trip".into()));
    }
}

/// L4, W9
#[tokio::test]
async fn a_restarted_run_undoes_each_kept_step_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        for (key, is_given) in [("a", false), ("b", true)] {
            let run = world.client().trip(key);
            run.start(vec![book("train"), pay("visa"), book("room"), Do::Stop]).await.unwrap();
            world.settle().await;
            let room = |at: &TripAt| if is_given { at.book(2).with("room-ticket".into()) } else { at.book(2) };
            run.restart_from(room).await.unwrap();
            world.settle().await;
            for _ in 0..2 {
                assert!(run.resume().await.unwrap());
                world.settle().await;
                assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
            }
            fakes.log.take();
            assert!(run.cancel().await.unwrap());
            world.settle().await;
            let undone = ["unbook room-ticket", "refund visa 7 Some(\"7 by visa\")", "unbook train-ticket", "cleanup"];
            assert_eq!(fakes.log.take(), undone, "given: {is_given}");
        }
    }
}

/// A workflow whose step loses a race while it runs. The run continues and fails after a day.
#[derive(Default, Serialize, Deserialize)]
struct Late;

#[workflow]
impl Late {
    async fn run(flow: &Flow<Self>, panics: bool) -> Result<(), Failure> {
        select! {
            _ = flow.grab(1) => {},
            _ = flow.sleep("5s") => {},
        }
        flow.turn().await;
        assert!(!panics, "as it must");
        flow.sleep("1d").await;
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

    #[step]
    async fn turn(log: &Log) {
        log.say("turn");
    }
}

/// L4, W9: However often its run is restarted.
#[tokio::test]
async fn a_kept_step_that_lost_a_race_is_undone_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().late("a");
        run.start(false).await.unwrap();
        world.advance(d!("10s")).await;
        run.restart_from(|at| at.turn(1)).await.unwrap();
        world.restart().await;
        world.advance(d!("1d")).await;
        assert_eq!(failed(run.result().await), RunError::Failed("too late".into()));
        assert_eq!(fakes.log.take(), ["grab 1", "turn", "turn", "release 1 None"]);

        let run = world.client().late("b");
        run.start(true).await.unwrap();
        world.advance(d!("10s")).await;
        run.restart_from(|at| at.turn(1).with(())).await.unwrap();
        for _ in 0..2 {
            assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
            assert!(run.resume().await.unwrap());
            world.settle().await;
        }
        assert_eq!(run.status().await.unwrap().unwrap().undos_left, 1);
        assert!(run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(fakes.log.take(), ["grab 1", "turn", "release 1 None"]);
    }
}

/// L4, W9
#[tokio::test]
async fn a_step_that_lost_a_race_and_was_undone_cannot_be_kept() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().late("a");
        run.start(false).await.unwrap();
        world.advance(d!("2d")).await;
        assert_eq!(failed(run.result().await), RunError::Failed("too late".into()));
        let refused = run.restart_from(|at| at.turn(1)).await.unwrap_err().failed().unwrap();
        assert_eq!(refused, RestartError::Undone { operation: "grab#1".into() });
        assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
    }
}

/// L4, W9, K3
#[tokio::test]
async fn a_restart_keeps_more_undoable_steps_than_a_commit_has_rows() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().trip("a");
    let plan = (0..1_000).map(|number| book(&number.to_string())).chain([Do::Wait]).collect();
    run.start(plan).await.unwrap();
    world.settle().await;
    run.restart_from(|at| at.book(1_000)).await.unwrap();
    world.settle().await;
    let status = run.status().await.unwrap().unwrap();
    assert_eq!((status.phase, status.generation, status.undos_left), (RunPhase::Suspended, 2, 1_000));
    fakes.log.take();
    assert!(run.cancel().await.unwrap());
    world.settle().await;
    let undone = fakes.log.take();
    assert_eq!((undone.len(), &*undone[0], &*undone[999]), (1_001, "unbook 999-ticket", "unbook 0-ticket"));
}
