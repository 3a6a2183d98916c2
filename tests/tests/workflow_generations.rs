//! Generations of a run: it continues as a new one, or restarts from its beginning or from a step (L4, L5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Context, Event, Failure, Flow, Primitives, RunError, Services, Timestamp, d,
    testing::{Fault, Latch, Log, Moment, Setup, World, replay},
    workflow,
    workflow::{RestartError, Restarted, RunPhase, SendError, Started, Stopped},
};
use drystone_tests::typed::{at_once, both, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Deposit(u64);

#[derive(Debug, Event, Serialize, Deserialize)]
struct Close;

/// A ledger with a new generation for each deposit, or for each month without one.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Ledger {
    seen: u64,
}

#[workflow(events(Deposit, Close))]
impl Ledger {
    async fn run(flow: &Flow<Self>, month: u32, total: u64) -> Result<String, Failure> {
        let Deposit(amount) = select! {
            deposit = flow.wait_for::<Deposit>() => deposit,
            _ = flow.wait_for::<Close>() => return Ok(format!("{total} after {month}")),
            _ = flow.sleep("30d") => Deposit(0),
        };
        flow.update(|ledger| ledger.seen += amount);
        flow.book(amount).await?;
        flow.continue_as(month + 1, total + amount).await
    }

    #[step]
    async fn book(amount: u64, log: &Log, cx: &Context) -> Result<(), Failure> {
        let id = cx.work_id();
        log.say(format!("{amount} {}", id.rsplit('-').next().unwrap_or_default()));
        Ok(())
    }
}

/// Continues while a step runs, and asks for the same step again.
#[derive(Default, Serialize, Deserialize)]
struct Racer;

#[workflow(events(Deposit))]
impl Racer {
    async fn run(flow: &Flow<Self>, turn: u32) -> String {
        let first = select! {
            done = flow.slow() => done,
            _ = flow.wait_for::<Deposit>() => flow.continue_as(turn + 1).await,
        };
        format!("{first} in {turn}")
    }

    #[step]
    async fn slow(latch: &Latch, log: &Log, cx: &Context) -> String {
        log.say("begins");
        latch.clone().wait().await;
        cx.work_id().rsplit('-').next().unwrap_or_default().to_owned()
    }
}

/// A tape with a new generation for each event. The input lists the events so far.
#[derive(Default, Serialize, Deserialize)]
struct Tape;

#[workflow(events(Deposit, Close))]
impl Tape {
    async fn run(flow: &Flow<Self>, mut heard: Vec<u64>) -> Vec<u64> {
        let Deposit(amount) = select! {
            deposit = flow.wait_for::<Deposit>() => deposit,
            _ = flow.wait_for::<Close>() => return heard,
        };
        heard.push(flow.hear(amount).await);
        flow.continue_as(heard).await
    }

    #[step]
    async fn hear(amount: u64) -> u64 {
        amount
    }
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

/// Three steps; the second one fails on demand.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Order {
    at: u32,
}

#[workflow(events(Deposit))]
impl Order {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        let chance = flow.random() % 1000;
        let one = flow.reserve(name.clone()).await;
        flow.update(|order| order.at = 1);
        let two = flow.charge(one).await?;
        flow.update(|order| order.at = 2);
        let (three, four) = join!(flow.ship(two), flow.reserve("gift".into()));
        let Deposit(tip) = flow.wait_for::<Deposit>().await;
        Ok(format!("{name} {three} {four} {tip} {}", chance == flow.look(|_| chance)))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.ship(99).await;
        Ok(())
    }

    #[step]
    async fn reserve(name: String, log: &Log) -> u64 {
        log.say(format!("reserve {name}"));
        name.len() as u64
    }

    #[step(max_attempts = 1)]
    async fn charge(amount: u64, latch: &Latch, log: &Log) -> Result<u64, Failure> {
        log.say(format!("charge {amount}"));
        if amount == 4 {
            latch.clone().wait().await;
        }
        if amount == 3 { Err("declined".into()) } else { Ok(amount * 10) }
    }

    #[step]
    async fn ship(amount: u64, log: &Log) -> u64 {
        log.say(format!("ship {amount}"));
        amount
    }
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

#[derive(Primitives)]
struct App {
    ledger: Ledger,
    racer: Racer,
    spinner: Spinner,
    order: Order,
    greedy: Greedy,
    long: Long,
    tape: Tape,
    walker: Walker,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L5
#[tokio::test]
async fn a_run_goes_on_as_a_new_generation_and_its_unread_events_stay_in_order() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().ledger("a");
        run.start(1, 0).await.unwrap();
        run.pause().await.unwrap();
        for amount in 1..=5 {
            run.send(Deposit(amount)).await.unwrap();
        }
        run.resume().await.unwrap();
        world.settle().await;
        let booked = ["1 book#1", "2 @2/book#1", "3 @3/book#1", "4 @4/book#1", "5 @5/book#1"];
        assert_eq!(fakes.log.take(), booked, "work of another generation is not the same outside, either");
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.entries, status.late), (6, 1, 0));
        assert_eq!(run.state().await.unwrap().unwrap(), Ledger::default(), "the state begins anew");
        assert_eq!(status.waits_for.len(), 3);
        replay::<Ledger>(&run.history().await.unwrap()).unwrap();
        world.restart().await;
        assert_eq!(run.start_or_get(1, 0).await.unwrap(), Started::Found, "it is still the run that was started");
        world.advance(d!("30d")).await;
        assert_eq!(fakes.log.take(), ["0 @6/book#1"]);
        run.send(Close).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "15 after 7");
    }
}

/// L5
#[tokio::test]
async fn a_generation_ends_and_the_next_begins_in_one_commit() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().ledger("a");
        run.start(1, 0).await.unwrap();
        let before = world.counts();
        run.send(Deposit(1)).await.unwrap();
        world.settle().await;
        assert_eq!(world.counts().since(before).commits, 2, "the event, and the end of the step");
        assert_eq!(run.status().await.unwrap().unwrap().generation, 2);
        let told = world.events();
        assert!(names(&told).contains(&"workflow.continued"));
    }
}

/// L5, L3
#[tokio::test]
async fn a_step_of_an_older_generation_is_dropped_and_its_end_is_not_taken() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().racer("a");
        run.start(1).await.unwrap();
        run.send(Deposit(1)).await.unwrap();
        assert_eq!(fakes.log.take(), ["begins"; 2], "each generation has a step of its own");
        fakes.latch.open();
        assert_eq!(run.result().await.unwrap(), "@2/slow#1 in 2");
    }
}

/// L5, L3: the second input comes before the commit of the first is durable.
#[tokio::test]
async fn of_the_end_of_a_step_and_a_new_generation_the_first_counts() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (ended, continued) = (world.client().racer("ended"), world.client().racer("continued"));
        ended.start(1).await.unwrap();
        continued.start(1).await.unwrap();
        world.store_fails(Fault::Down);
        // The latch lets its waiters through in the order in which they came.
        fakes.latch.let_one_through();
        world.settle().await;
        let (refused, sent, ()) =
            tokio::join!(ended.send(Deposit(1)).into_future(), continued.send(Deposit(1)).into_future(), async {
                world.settle().await;
                fakes.latch.let_one_through();
                world.settle().await;
                world.store_works();
                world.advance(d!("10s")).await;
            },);
        assert_eq!(
            refused.unwrap_err().failed().unwrap(),
            SendError::Terminated { status: "succeeded".into() },
            "its step had ended"
        );
        assert_eq!(ended.result().await.unwrap(), "slow#1 in 1");
        assert!(sent.unwrap().taken);
        let status = continued.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation, status.late), (RunPhase::Running, 2, 1), "its step came too late");
        fakes.latch.open();
        assert_eq!(continued.result().await.unwrap(), "@2/slow#1 in 2");
    }
}

/// L5
#[tokio::test]
async fn whoever_waits_for_a_result_waits_over_all_generations() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().ledger("a");
    run.start(1, 0).await.unwrap();
    let (result, ()) = tokio::join!(run.result().into_future(), async {
        for amount in 1..=3 {
            run.send(Deposit(amount)).await.unwrap();
            world.settle().await;
        }
        run.restart_with(10, 100).await.unwrap();
        run.send(Close).await.unwrap();
    });
    assert_eq!(result.unwrap(), "100 after 10");
}

/// L5, E13
#[tokio::test]
async fn a_crash_at_any_commit_loses_no_generation_and_no_event() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let (world, fakes) = started(World::memory()).await;
            let run = world.client().ledger("a");
            run.start(1, 0).await.unwrap();
            world.crash_at_commit(n, moment);
            let mut acknowledged = 0;
            for amount in [1, 10, 100] {
                let sent = run.send(Deposit(amount)).idempotency_key(format!("{amount}"));
                if sent.await.is_err() {
                    world.restart().await;
                    run.send(Deposit(amount)).idempotency_key(format!("{amount}")).await.unwrap();
                }
                acknowledged += amount;
            }
            world.settle().await;
            if world.is_dead() {
                world.restart().await;
            }
            world.settle().await;
            assert_eq!(run.status().await.unwrap().unwrap().generation, 4, "at {n}");
            run.send(Close).await.unwrap();
            assert_eq!(run.result().await.unwrap(), format!("{acknowledged} after 4"));
            assert!(fakes.log.take().len() >= 3);
        }
    }
}

/// L5, V2, fA10, fC3
#[tokio::test]
async fn events_that_come_fast_are_taken_once_and_in_order_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        let mut deaths = 0;
        for (commit, moment) in (1..=14).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
            let (world, _) = started(setup()).await;
            let run = world.client().tape("a");
            run.start(Vec::new()).await.unwrap();
            world.crash_at_commit(commit, moment);
            let send = |amount: u64| {
                let (run, key) = (world.client().tape("a"), format!("{amount}"));
                run.send(Deposit(amount)).idempotency_key(key).into_future()
            };
            let _ = at_once((1..=8).map(send)).await;
            world.settle().await;
            if world.is_dead() {
                deaths += 1;
                world.restart().await;
            }
            // Callers without an answer ask again.
            for answer in at_once((1..=8).map(send)).await {
                answer.unwrap();
            }
            world.settle().await;
            let when = format!("death {moment:?} commit {commit}");
            assert_eq!(run.status().await.unwrap().unwrap().generation, 9, "{when}");
            world.restart().await;
            run.send(Close).await.unwrap();
            assert_eq!(run.result().await.unwrap(), (1..=8).collect::<Vec<_>>(), "{when}");
        }
        assert!(deaths >= 16, "it dies at each of its commits: {deaths}");
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

/// L4
#[tokio::test]
async fn a_restart_begins_anew_with_the_same_input_also_after_the_end() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        assert_eq!(run.restart().await.unwrap_err().failed().unwrap(), RestartError::NotFound);
        run.start("abc".into()).await.unwrap();
        let Err(CallError::Failed(RunError::Failed(failure))) = run.result().await else { panic!("it fails") };
        assert_eq!(failure.message(), "declined");
        fakes.log.take();
        assert_eq!(run.restart().await.unwrap(), Restarted { generation: 2 });
        world.settle().await;
        assert_eq!(fakes.log.take(), ["reserve abc", "charge 3"]);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed);
        let again = run.restart_with("abcdef".into());
        assert_eq!(again.await.unwrap().generation, 3);
        world.settle().await;
        run.send(Deposit(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abcdef 60 4 1 true");
        assert_eq!(run.start_or_get("abcdef".into()).await.unwrap(), Started::Found);
        let told = world.events();
        assert_eq!(names(&told).iter().filter(|name| **name == "workflow.restarted").count(), 2);
        world.restart().await;
        assert_eq!(run.result().await.unwrap(), "abcdef 60 4 1 true");
    }
}

/// L4
#[tokio::test]
async fn a_restart_of_a_live_run_drops_its_waits_and_work_and_keeps_its_events() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("wait".into()).await.unwrap();
        world.settle().await;
        for number in 1..=3 {
            run.send(Deposit(number)).await.unwrap();
        }
        assert_eq!(fakes.log.take(), ["reserve wait", "charge 4"]);
        run.restart_with("quick".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick 50 4 1 true", "the first of the events that were there");
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["reserve quick", "charge 5", "ship 50", "reserve gift"]);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Succeeded, 0));
    }
}

/// L4
#[tokio::test]
async fn a_restart_may_drop_the_events_and_takes_later_ones() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().order("a");
        run.start("wait".into()).await.unwrap();
        for round in 1..=2 {
            for number in 1..=3 {
                run.send(Deposit(number)).await.unwrap();
            }
            run.restart().drop_events().await.unwrap();
            assert!(run.events().await.unwrap().is_empty(), "{round}");
            world.restart().await;
        }
        run.restart_with("quick".into()).await.unwrap();
        world.settle().await;
        let queued = run.status().await.unwrap().unwrap().queued;
        assert_eq!(
            queued.iter().map(|of| (of.count, of.discarded)).collect::<Vec<_>>(),
            [(0, 6)],
            "counted all the same"
        );
        run.send(Deposit(7)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick 50 4 7 true");
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

/// L4, E13
#[tokio::test]
async fn a_restart_is_whole_or_not_at_all() {
    for moment in [Moment::Before, Moment::After] {
        let (world, _) = started(World::memory()).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, moment);
        assert!(run.restart_with("quick".into()).await.is_err());
        world.restart().await;
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        let expected = match moment {
            Moment::Before => (1, RunPhase::Failed),
            _ => (2, RunPhase::Suspended),
        };
        assert_eq!((status.generation, status.phase), expected);
    }
}

/// L4
#[tokio::test]
async fn a_restart_from_a_step_keeps_what_came_before_it() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["reserve abc", "charge 3"]);
        let from = run.restart_from(|at| at.charge(1)).await.unwrap();
        assert_eq!(from.generation, 2);
        world.settle().await;
        assert_eq!(fakes.log.take(), ["charge 3"], "what is kept is not done again");
        run.restart_from(|at| at.charge(1).with(70)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["ship 70", "reserve gift"], "and neither is what was said");
        assert_eq!(run.state().await.unwrap().unwrap(), Order { at: 2 });
        world.restart().await;
        run.send(Deposit(2)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abc 70 4 2 true");
        let history = run.history().await.unwrap();
        replay::<Order>(&history).unwrap();
        let text = history.to_json().unwrap();
        assert!(text.contains(r#""started_as":{"generation":3,"input":["abc"]}"#), "{text}");
        run.restart_from(|at| at.reserve(1).with(8)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["charge 8", "ship 80", "reserve gift"]);
        run.send(Deposit(3)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abc 80 4 3 true");
        replay::<Order>(&run.history().await.unwrap()).unwrap();
    }
}

/// L4
#[tokio::test]
async fn a_restart_from_a_step_that_is_not_there_changes_nothing() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().order("a");
    run.start("wait".into()).await.unwrap();
    world.settle().await;
    let refused = run.restart_from(|at| at.ship(1)).await.unwrap_err().failed().unwrap();
    assert_eq!(refused, RestartError::NoSuchStep { step: "ship".into(), nth: 1, found: 0 });
    assert!(run.restart_from(|at| at.charge(0)).await.is_err());
    assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
    fakes.log.take();
    run.restart_from(|at| at.charge(1).with(1)).await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take(), ["ship 1", "reserve gift"], "one that is waited for can be told, too");
    assert!(run.cancel().await.unwrap());
    assert_eq!(fakes.log.take(), ["ship 99"]);
    let refused = run.restart_from(|at| at.ship(2)).await.unwrap_err().failed().unwrap();
    assert_eq!(refused, RestartError::NoSuchStep { step: "ship".into(), nth: 2, found: 1 }, "that was its cleanup");
    run.restart_from(|at| at.ship(1)).await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take()[0], "ship 1");
}

/// L4
#[tokio::test]
async fn of_a_long_history_any_prefix_is_kept() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().long("a");
    run.start(3_000).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_000);
    fakes.log.take();
    run.restart_from(|at| at.one(2_500)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_000);
    assert_eq!(fakes.log.take().len(), 501);
    world.restart().await;
    let history = run.history().await.unwrap();
    assert_eq!(history.len(), 3_002);
    replay::<Long>(&history).unwrap();
    run.restart_from(|at| at.one(1).with(5)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_004);
}

/// A workflow with many steps.
#[derive(Default, Serialize, Deserialize)]
struct Long;

#[workflow]
impl Long {
    async fn run(flow: &Flow<Self>, count: u32) -> u32 {
        let mut sum = 0;
        for _ in 0..count {
            sum += flow.one().await;
        }
        sum
    }

    #[step]
    async fn one(log: &Log) -> u32 {
        log.say("one");
        1
    }
}

/// Code that does not fit the kept part of the journal.
mod changed {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Order;

    #[workflow(events(Deposit))]
    impl Order {
        async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
            flow.check(name.clone()).await;
            let one = flow.reserve(name).await;
            flow.charge(one).await
        }

        #[step]
        async fn check(name: String) -> String {
            name
        }

        #[step]
        async fn reserve(name: String) -> u64 {
            name.len() as u64
        }

        #[step]
        async fn charge(amount: u64) -> Result<String, Failure> {
            Ok(format!("charged {amount}"))
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        order: Order,
    }
}

/// L2, L4
#[tokio::test]
async fn a_history_is_of_one_generation_also_if_another_begins_between_its_pages() {
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

/// L4, W4
#[tokio::test]
async fn code_that_does_not_fit_what_is_kept_stops_the_run_and_nothing_is_lost() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        assert!(run.result().await.is_err());
        let world = world.restart_as::<changed::App, _>(fakes.clone()).await.unwrap();
        let run = world.client().order("a");
        run.restart_from(|at| at.charge(1)).await.unwrap();
        let status = run.status().await.unwrap().unwrap();
        assert!(matches!(&status.stopped, Some(Stopped::Diverged(told)) if told.expected.contains("reserve")));
        fakes.log.take();
        let world = world.restart_as::<App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["charge 3"], "with code that fits it goes on from there");
        let run = world.client().order("a");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed);
        replay::<Order>(&run.history().await.unwrap()).unwrap();
    }
}
