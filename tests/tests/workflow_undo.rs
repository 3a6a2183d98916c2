//! A run that fails or is cancelled undoes its steps (W9, L3).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Failure, Flow, Primitives, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::{RestartError, RunPhase},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// A part of a trip.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Do {
    Book(String),
    /// A payment whose fault is caught.
    Pay(String),
    /// A payment raced against an hour.
    Race(String),
    /// A payment raced against a sleep that ends at once.
    Lose(String),
    Wait,
    Fail,
    Panic,
    /// Makes the body panic.
    Stop,
}

/// A trip.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    done: u32,
}

#[workflow]
impl Trip {
    async fn run(flow: &Flow<Self>, plan: Vec<Do>) -> Result<u32, Failure> {
        for part in plan {
            match part {
                Do::Book(what) => drop(flow.book(what).await?),
                Do::Pay(card) => drop(flow.pay(card, 7).catch().await),
                Do::Race(card) => select! {
                    _ = flow.pay(card, 7) => {},
                    _ = flow.sleep("1h") => {},
                },
                Do::Lose(card) => select! {
                    _ = flow.pay(card, 7) => {},
                    _ = flow.sleep_until(flow.now()) => {},
                },
                Do::Wait => flow.sleep("1d").await,
                Do::Fail => return Err("no trip".into()),
                Do::Panic => flow.stumble().await,
                Do::Stop => panic!("over the plan"),
            }
            flow.update(|trip| trip.done += 1);
        }
        Ok(flow.look(|trip| trip.done))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.note("cleanup".into()).await;
    }

    /// Undone if it succeeded.
    #[step(max_attempts = 1, undo = unbook)]
    async fn book(what: String, log: &Log) -> Result<String, Failure> {
        if what == "nothing" {
            return Err("sold out".into());
        }
        log.say(format!("book {what}"));
        Ok(format!("{what}-ticket"))
    }

    #[step(max_attempts = 2, backoff = "1m")]
    async fn unbook(ticket: String, log: &Log, latch: &Latch) -> Result<(), Failure> {
        log.say(format!("unbook {ticket}"));
        if ticket.starts_with("slow") {
            latch.clone().wait().await;
        }
        if ticket.starts_with("firm") {
            return Err("not refundable".into());
        }
        Ok(())
    }

    /// Undone also if its outcome is unknown.
    #[step(max_attempts = 1, timeout = "10s", undo = refund)]
    async fn pay(card: String, cents: u32, log: &Log, latch: &Latch) -> Result<String, Failure> {
        log.say(format!("pay {}", short(&card)));
        match short(&card) {
            "declined" => return Err("declined".into()),
            "hangs" => latch.clone().wait().await,
            "panics" => panic!("over the card"),
            _ => {}
        }
        Ok(format!("{cents} by {}", short(&card)))
    }

    #[step]
    async fn refund(card: String, cents: u32, paid: Option<String>, log: &Log) {
        log.say(format!("refund {} {cents} {paid:?}", short(&card)));
    }

    #[step(max_attempts = 1)]
    async fn stumble() {
        panic!("over nothing");
    }

    #[step]
    async fn note(what: String, log: &Log) {
        log.say(what);
    }
}

/// The first word of a card. Long cards have a long tail.
fn short(card: &str) -> &str {
    card.split(' ').next().unwrap_or_default()
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

#[derive(Primitives)]
struct App {
    trip: Trip,
    loser: Loser,
    late: Late,
    guest: Guest,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn failed<T: std::fmt::Debug>(result: Result<T, CallError<RunError<Failure>>>) -> RunError<Failure> {
    result.unwrap_err().failed().unwrap()
}

fn book(what: &str) -> Do {
    Do::Book(what.to_owned())
}

fn pay(card: &str) -> Do {
    Do::Pay(card.to_owned())
}

/// W9
#[tokio::test]
async fn a_run_that_fails_undoes_its_steps_the_last_first_and_then_fails_with_its_own_error() {
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
async fn a_run_that_is_told_again_what_it_kept_undoes_each_step_once() {
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

/// L4, W9
#[tokio::test]
async fn a_step_that_lost_a_race_in_what_is_kept_is_undone_once_however_often_that_is_told() {
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
async fn a_restart_keeps_more_steps_that_have_an_undo_than_a_commit_has_rows() {
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

/// W9
#[tokio::test]
async fn an_undo_that_takes_the_input_is_due_where_nobody_knows_the_outcome_and_not_where_it_failed() {
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

/// W9, L7
#[tokio::test]
async fn a_step_that_lost_a_race_while_it_ran_is_undone_and_one_that_never_began_is_not() {
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

/// W9
#[tokio::test]
async fn while_it_is_undone_a_run_says_so_takes_no_cancel_and_goes_on_after_a_crash() {
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

/// W9, W3
#[tokio::test]
async fn an_undo_has_its_own_attempts_and_one_that_fails_for_good_is_told_and_keeps_no_other_back() {
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

/// W9, L3
#[tokio::test]
async fn a_cancelled_run_that_is_not_in_memory_is_undone_then_cleaned_up_then_cancelled() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), pay("visa"), Do::Wait]).await.unwrap();
        world.settle().await;
        fakes.log.take();
        world.restart().await;
        assert!(run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(fakes.log.take(), ["refund visa 7 Some(\"7 by visa\")", "unbook train-ticket", "cleanup"]);
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// W9, L3
#[tokio::test]
async fn a_step_that_ends_while_its_run_is_cancelled_is_undone_and_one_that_hangs_is_too() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), pay("hangs"), Do::Wait]).await.unwrap();
        world.settle().await;
        assert!(run.cancel().await.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Cancelling);
        world.advance(d!("10s")).await;
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(fakes.log.take()[2..], ["refund hangs 7 None", "unbook train-ticket", "cleanup"]);
    }
}

/// W9, L3
#[tokio::test]
async fn a_step_that_is_abandoned_by_a_cancel_is_undone_as_one_that_nobody_knows_of() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        for (key, tail) in [("short", ""), ("long", "x")] {
            let card = format!("hangs {}", tail.repeat(5_000));
            let run = world.client().trip(key);
            run.start(vec![book("train"), pay(&card), Do::Wait]).await.unwrap();
            world.settle().await;
            assert!(run.cancel_abandoning_steps().await.unwrap());
            world.settle().await;
            assert_eq!(failed(run.result().await), RunError::Cancelled);
            assert_eq!(fakes.log.take()[2..], ["refund hangs 7 None", "unbook train-ticket", "cleanup"], "{key}");
            let history = run.history().await.unwrap();
            let operations: Vec<_> = history.operations().collect();
            assert_eq!(operations, ["book#1", "undo/pay#1/refund#1", "undo/book#1/unbook#1", "!/note#1"]);
            replay::<Trip>(&history).unwrap();
        }
    }
}

/// W9, L3
#[tokio::test]
async fn an_undo_is_not_abandoned_by_a_cancel_that_abandons_steps() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), book("slow"), Do::Wait]).await.unwrap();
        world.settle().await;
        assert!(run.cancel_abandoning_steps().await.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Undoing);
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "it is on its way out");
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take()[2..], ["unbook slow-ticket", "unbook train-ticket", "cleanup"]);
        assert_eq!(failed(run.result().await), RunError::Cancelled);
    }
}

/// W9, L3
#[tokio::test]
async fn a_death_at_any_commit_of_a_run_that_abandons_its_steps_undoes_each_once() {
    for (n, moment) in (1..=5).flat_map(|n| [(n, Moment::Before), (n, Moment::After)]) {
        let (world, fakes) = started(World::sqlite()).await;
        let run = world.client().trip("a");
        run.start(vec![book("train"), pay("hangs"), Do::Wait]).await.unwrap();
        world.settle().await;
        world.crash_at_commit(n, moment);
        let _ = run.cancel_abandoning_steps().idempotency_key("cancel").await;
        world.settle().await;
        if world.is_dead() {
            world.restart().await;
        }
        run.cancel_abandoning_steps().idempotency_key("cancel").await.unwrap();
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Cancelled, "{n} {moment:?}");
        let mut undone = fakes.log.take();
        undone.retain(|line| !line.starts_with("pay") && !line.starts_with("book"));
        undone.dedup();
        assert_eq!(undone, ["refund hangs 7 None", "unbook train-ticket", "cleanup"], "{n} {moment:?}");
        let history = run.history().await.unwrap();
        let operations: Vec<_> = history.operations().collect();
        assert_eq!(operations, ["book#1", "undo/pay#1/refund#1", "undo/book#1/unbook#1", "!/note#1"], "{n} {moment:?}");
    }
}

/// W9
#[tokio::test]
async fn a_long_input_is_kept_for_its_undo_and_gone_when_the_run_has_ended() {
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
async fn a_death_at_any_commit_of_a_run_that_is_undone_undoes_all_of_it_in_order_and_records_each_once() {
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
