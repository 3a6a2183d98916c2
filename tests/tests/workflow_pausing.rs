//! Paused runs: running steps end, timers wait, and events are queued (H2).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Event, Failure, Flow, Primitives, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::RunPhase,
};
use drystone_runtime::kernel::Wait;
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(u32);

/// Two steps, a sleep, a wait with a deadline, and an end.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Job {
    at: u32,
}

#[workflow(events(Note))]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        let one = flow.work(name).await;
        flow.update(|job| job.at = 1);
        let two = flow.work(one).await;
        flow.sleep("1h").await;
        flow.update(|job| job.at = 2);
        let note = flow.wait_for::<Note>().timeout("1h").await;
        Ok(format!("{two} {:?}", note.map(|note| note.0).ok()))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.work("tidy".into()).await;
    }

    #[step]
    async fn work(name: String, latch: &Latch, log: &Log) -> String {
        log.say(name.clone());
        if name == "slow" {
            latch.clone().wait().await;
        }
        format!("{name}+")
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
async fn a_step_that_ran_when_the_run_was_paused_runs_again_after_a_crash() {
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
async fn no_timer_fires_and_no_event_is_taken_in_a_pause_and_both_are_at_resume() {
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

/// H2
#[tokio::test]
async fn what_was_asked_for_in_a_pause_is_later_by_what_was_left_of_it() {
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

/// H2, W3
#[tokio::test]
async fn the_time_after_which_a_step_is_given_up_is_later_by_the_pause() {
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

/// H2, L7, R7: `resume` wakes the run; a released step does not.
#[tokio::test]
async fn a_step_that_lost_its_race_in_a_pause_is_not_waited_for() {
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
async fn one_that_was_stopped_can_be_paused_and_goes_on_by_one_resume() {
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
