//! What a pause holds: steps, timers and events (H1, H2).

use super::*;

#[derive(Primitives)]
struct App {
    job: Job,
    shaky: Shaky,
    racer: Racer,
    patient: Patient,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// H2
#[tokio::test]
async fn a_pause_waits_for_the_step_that_runs_and_starts_no_other() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        assert!(!run.pause().await.unwrap(), "there is none");
        run.start("slow".into()).await.unwrap();
        assert!(run.pause().await.unwrap());
        assert!(!run.pause().await.unwrap(), "true once");
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Paused, 1));
        assert_eq!(status.paused_since, Some(world.now()));
        fakes.latch.open();
        world.settle().await;
        assert_eq!(run.history().await.unwrap().operations().collect::<Vec<_>>(), ["work#1"], "its outcome is kept");
        world.restart().await;
        world.advance(d!("1d")).await;
        assert_eq!(fakes.log.take(), ["slow"], "no other begins");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Paused);
        assert!(run.resume().await.unwrap());
        assert!(!run.resume().await.unwrap());
        world.settle().await;
        assert_eq!(fakes.log.take(), ["slow+"]);
        replay::<Job>(&run.history().await.unwrap()).unwrap();
    }
}

/// H2, E13
#[tokio::test]
async fn a_step_that_ran_at_the_pause_runs_again_after_a_crash() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        run.pause().await.unwrap();
        world.crash().await;
        world.restart().await;
        world.settle().await;
        assert_eq!(fakes.log.take(), ["slow", "slow"]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(run.status().await.unwrap().unwrap().entries, 2);
        assert!(fakes.log.take().is_empty());
    }
}

/// H2, V1
#[tokio::test]
async fn timers_and_events_of_a_pause_take_effect_at_resume() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().job("a");
        run.start("quick".into()).await.unwrap();
        world.settle().await;
        run.pause().await.unwrap();
        world.advance(d!("10h")).await;
        assert!(!run.send(Note(7)).await.unwrap().taken);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.entries, status.queued[0].count), (RunPhase::Paused, 3, 1));
        assert_eq!(world.view("job", "a").await.unwrap().unwrap().meta.alarm, None);
        world.restart().await;
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), "quick++ Some(7)", "the sleep is over, and the event is there");
    }
}

/// H2
#[tokio::test]
async fn deadlines_stay_where_they_are_or_are_later_by_the_pause() {
    for shifted in [false, true] {
        for setup in both() {
            let (world, _) = started(setup).await;
            let run = world.client().job("a");
            run.start("quick".into()).await.unwrap();
            world.advance(d!("30m")).await;
            run.pause().await.unwrap();
            world.advance(d!("10m")).await;
            assert!(if shifted { run.resume_shifted().await } else { run.resume().await }.unwrap());
            world.advance(d!("20m")).await;
            let at = run.state().await.unwrap().unwrap().at;
            assert_eq!(at, if shifted { 1 } else { 2 }, "after an hour");
            world.advance(d!("10m")).await;
            assert_eq!(run.state().await.unwrap().unwrap().at, 2, "after an hour without the pause");
        }
    }
}

/// A step that fails until the latch lets it through, and a race of two.
#[derive(Default, Serialize, Deserialize)]
struct Shaky;

#[workflow(events(Note))]
impl Shaky {
    async fn run(flow: &Flow<Self>, races: bool) -> Result<u32, Failure> {
        if races {
            select! {
                one = flow.slow(1) => return Ok(one),
                two = flow.slow(2) => return Ok(two),
            }
        }
        flow.fails().await
    }

    #[step(max_attempts = 3, backoff = "1m")]
    async fn fails(latch: &Latch, log: &Log) -> Result<u32, Failure> {
        log.say("fails");
        latch.clone().wait().await;
        Err("it did".into())
    }

    #[step]
    async fn slow(number: u32, latch: &Latch) -> u32 {
        latch.clone().wait().await;
        number
    }
}

/// H2
#[tokio::test]
async fn a_deadline_set_in_a_pause_is_later_by_its_rest() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().shaky("a");
    run.start(false).await.unwrap();
    run.pause().await.unwrap();
    world.advance(d!("1h")).await;
    fakes.latch.open();
    world.settle().await;
    world.advance(d!("1h")).await;
    assert_eq!(fakes.log.take(), ["fails"], "an attempt that fails is the last of the pause");
    run.resume_shifted().await.unwrap();
    let until = run.status().await.unwrap().unwrap().waits_for[0].until.unwrap();
    assert_eq!(until.as_millis() - world.now().as_millis(), 60_000);
    world.advance(d!("1m")).await;
    assert_eq!(fakes.log.take(), ["fails"]);
    run.pause().await.unwrap();
    world.advance(d!("1h")).await;
    run.resume().await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take(), ["fails"], "an attempt whose time has passed begins at once");
    assert!(matches!(run.result().await, Err(CallError::Failed(RunError::Failed(_)))));
}

/// A step that is retried for ten minutes.
#[derive(Default, Serialize, Deserialize)]
struct Patient;

#[workflow]
impl Patient {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.fails().await
    }

    #[step(max_attempts = 9, backoff = "1m", give_up_after = "10m")]
    async fn fails(log: &Log) -> Result<(), Failure> {
        log.say("fails");
        Err("it did".into())
    }
}

/// H2, W3
#[tokio::test]
async fn the_time_limit_of_a_step_is_later_by_the_pause() {
    for (shifts, follow) in [(true, 1), (false, 0)] {
        let (world, fakes) = started(World::memory()).await;
        let run = world.client().patient("a");
        run.start().await.unwrap();
        run.pause().await.unwrap();
        world.advance(d!("1h")).await;
        assert!(if shifts { run.resume_shifted().await.unwrap() } else { run.resume().await.unwrap() });
        world.advance(d!("1m")).await;
        let waits = run.status().await.unwrap().unwrap().waits_for;
        assert_eq!((fakes.log.take().len(), waits.len()), (2, follow), "a third follows if there is time left for it");
    }
}

/// H2, L7
#[tokio::test]
async fn of_steps_that_race_in_a_pause_the_first_wins() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().shaky("a");
        run.start(true).await.unwrap();
        run.pause().await.unwrap();
        fakes.latch.open();
        world.settle().await;
        run.resume().await.unwrap();
        assert_eq!(run.result().await.unwrap(), 1);
        assert_eq!(run.history().await.unwrap().operations().count(), 1);
    }
}

/// A race with a single possible winner, followed by a wait.
#[derive(Default, Serialize, Deserialize)]
struct Racer;

#[workflow(events(Note))]
impl Racer {
    async fn run(flow: &Flow<Self>) -> String {
        let winner = select! {
            () = flow.quick() => "quick",
            () = flow.never() => "never",
        };
        flow.wait_for::<Note>().await;
        winner.to_owned()
    }

    #[step]
    async fn quick(latch: &Latch) {
        latch.clone().wait().await;
    }

    #[step]
    async fn never() {
        std::future::pending::<()>().await;
    }
}

/// H2, L7, R7: `resume` wakes the run; a released step does not.
#[tokio::test]
async fn a_pause_does_not_wait_for_a_step_that_lost_its_race() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().racer("a");
        run.start().await.unwrap();
        run.pause().await.unwrap();
        fakes.latch.open();
        world.advance(d!("20s")).await;
        let waits = world.explain("racer", "a").await.unwrap().waits;
        assert!(!waits.contains(&Wait::Stuck), "{waits:?}");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Paused);
        run.resume().await.unwrap();
        run.send(Note(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick");
    }
}
