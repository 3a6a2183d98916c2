//! Time and concurrency: sleeps, races and joins, however nested (H1, L7, A5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use drystone::{
    Event, Flow, Primitives, Services, Timestamp, assume_durable, d, join_all,
    testing::{Fault, Latch, Log, Moment, Setup, World},
    workflow,
    workflow::{RunPhase, Step},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Event, Serialize, Deserialize)]
struct Go;

/// Two sleeps in a row, and a sleep until a time.
#[derive(Default, Serialize, Deserialize)]
struct Sleeper {
    at: Vec<i64>,
}

#[workflow]
impl Sleeper {
    async fn run(flow: &Flow<Self>, until: Option<i64>) -> Vec<i64> {
        let began = flow.now();
        let since = |flow: &Flow<Self>| flow.now().as_millis() - began.as_millis();
        flow.sleep("1s").await;
        flow.update(|sleeper| sleeper.at.push(since(flow)));
        flow.sleep("2s").await;
        flow.update(|sleeper| sleeper.at.push(since(flow)));
        if let Some(until) = until {
            flow.sleep_until(Timestamp::from_millis(until)).await;
            flow.update(|sleeper| sleeper.at.push(since(flow)));
        }
        flow.look(|sleeper| sleeper.at.clone())
    }
}

/// The kind and the length of a wait.
#[derive(Debug, Serialize, Deserialize)]
enum Distance {
    Sleep(Duration),
    Until(Timestamp),
    Timeout(Duration),
}

/// Waits once. Returns how long the wait took, in milliseconds.
#[derive(Default, Serialize, Deserialize)]
struct Distant;

#[workflow(events(Go), retention = "30d")]
impl Distant {
    async fn run(flow: &Flow<Self>, distance: Distance) -> i64 {
        let began = flow.now().as_millis();
        match distance {
            Distance::Sleep(span) => flow.sleep(span).await,
            Distance::Until(time) => flow.sleep_until(time).await,
            Distance::Timeout(span) => drop(flow.wait_for::<Go>().timeout(span).await),
        }
        flow.now().as_millis() - began
    }
}

/// A race between a step, an event and a deadline, in a loop.
#[derive(Default, Serialize, Deserialize)]
struct Racer;

#[workflow(events(Go))]
impl Racer {
    async fn run(flow: &Flow<Self>, rounds: u32) -> Vec<String> {
        let mut won = Vec::new();
        for round in 0..rounds {
            let winner = select! {
                text = flow.work(round) => text,
                _ = flow.wait_for::<Go>() => "event".to_owned(),
                _ = flow.sleep("10s") => "deadline".to_owned(),
            };
            won.push(winner);
        }
        won
    }

    #[step]
    async fn work(round: u32, latch: &Latch, log: &Log) -> String {
        log.say(format!("work {round}"));
        if round == 0 {
            return "step".into();
        }
        latch.clone().wait().await;
        "late".into()
    }
}

/// Joins and races within each other; each arm uses the same names in its own branch.
#[derive(Default, Serialize, Deserialize)]
struct Nested;

#[workflow(events(Go))]
impl Nested {
    async fn run(flow: &Flow<Self>) -> Vec<String> {
        let arm = |name: &'static str| {
            let flow = flow.clone();
            async move {
                let first = flow.say(name.to_owned(), 1).await;
                flow.sleep("1s").await;
                let second = select! {
                    said = flow.say(name.to_owned(), 2) => said,
                    _ = flow.sleep("1h") => "never".to_owned(),
                };
                format!("{first} {second}")
            }
        };
        let (left, right, many) = join!(
            arm("left"),
            async { join!(arm("one"), arm("two")) },
            join_all(["x", "y", "z"].map(|name| flow.say(name.to_owned(), 0))),
        );
        let mut all = vec![left, right.0, right.1];
        all.extend(many);
        all
    }

    #[step]
    async fn say(name: String, number: u32, log: &Log) -> String {
        log.say(format!("{name}{number}"));
        format!("{name}{number}")
    }
}

/// A step raced by reference, which continues when it loses a round.
#[derive(Default, Serialize, Deserialize)]
struct Patient;

#[workflow]
impl Patient {
    async fn run(flow: &Flow<Self>) -> u32 {
        let mut work = flow.work();
        let mut reminders = 0;
        loop {
            select! {
                done = &mut work => return done + reminders,
                _ = flow.sleep("1m") => reminders += 1,
            }
        }
    }

    #[step]
    async fn work(latch: &Latch, log: &Log) -> u32 {
        log.say("work");
        latch.clone().wait().await;
        100
    }
}

/// Many operations at once, each counting its polls.
#[derive(Default, Serialize, Deserialize)]
struct Wide;

#[workflow]
impl Wide {
    async fn run(flow: &Flow<Self>, arms: u32) -> usize {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = |arm| assume_durable(Counted { step: flow.echo(arm), polls: polls.clone() });
        let sum: u32 = join_all((0..arms).map(counted)).await.into_iter().sum();
        assert_eq!(sum, (0..arms).sum::<u32>());
        let (one, two, three, four, five) = join!(counted(1), counted(2), counted(3), counted(4), counted(5));
        assert_eq!([one, two, three, four, five], [1, 2, 3, 4, 5]);
        polls.load(Ordering::Relaxed)
    }

    #[step]
    async fn echo(arm: u32) -> u32 {
        arm
    }
}

/// A step with a counter of polls.
struct Counted {
    step: Step<u32>,
    polls: Arc<AtomicUsize>,
}

impl Future for Counted {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<u32> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.step).poll(context)
    }
}

/// The values that are the same in every replay.
#[derive(Default, Serialize, Deserialize)]
struct Chance;

#[workflow]
impl Chance {
    async fn run(flow: &Flow<Self>) -> (u64, u64, String, i64) {
        let (one, other, id, now) = (flow.random(), flow.random(), flow.uuid(), flow.now().as_millis());
        flow.sleep("1h").await;
        flow.keep(one, other, id.clone(), now).await;
        flow.sleep("1h").await;
        (one, other, id, now)
    }

    #[step]
    async fn keep(one: u64, other: u64, id: String, now: i64, log: &Log) {
        log.say(format!("{one} {other} {id} {now}"));
    }
}

#[derive(Primitives)]
struct App {
    sleeper: Sleeper,
    racer: Racer,
    nested: Nested,
    patient: Patient,
    wide: Wide,
    chance: Chance,
    distant: Distant,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// H1
#[tokio::test]
async fn two_sleeps_in_a_row_each_have_their_own_deadline() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().sleeper("a");
        run.start(None).await.unwrap();
        world.advance(d!("999ms")).await;
        assert!(run.state().await.unwrap().unwrap().at.is_empty());
        world.advance(d!("1ms")).await;
        assert_eq!(run.state().await.unwrap().unwrap().at, [1_000]);
        world.advance(d!("2s")).await;
        assert_eq!(run.result().await.unwrap(), [1_000, 3_000]);
    }
}

/// H1
#[tokio::test]
async fn a_sleep_until_the_past_is_over_at_once_in_the_same_commit() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().sleeper("a");
    run.start(Some(1)).await.unwrap();
    world.advance(d!("1s")).await;
    let before = world.counts();
    world.advance(d!("2s")).await;
    assert_eq!(run.try_result().await.unwrap(), Some(vec![1_000, 3_000, 3_000]));
    assert_eq!(world.counts().since(before).commits, 1);
}

/// A5, H1, fA13
#[tokio::test]
async fn a_deadline_is_fixed_when_it_is_first_reached_whatever_happens_then() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (run, waits) = (world.client().sleeper("a"), world.client().distant("b"));
        run.start(None).await.unwrap();
        waits.start(Distance::Timeout(d!("1s"))).await.unwrap();
        for _ in 0..9 {
            world.advance(d!("100ms")).await;
            world.restart().await;
        }
        let until = run.status().await.unwrap().unwrap().waits_for[0].until.unwrap();
        assert_eq!(until.since(world.now()), d!("100ms"));
        world.advance(d!("100ms")).await;
        assert_eq!(run.state().await.unwrap().unwrap().at, [1_000]);
        assert_eq!(waits.result().await.unwrap(), 1_000, "that of a wait, too");
    }
}

/// H1, A4, fA12: the sleep ends at once, however long ago it was due.
#[tokio::test]
async fn a_sleep_that_was_over_while_nothing_ran_ends_when_it_runs_again() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().sleeper("a");
        run.start(None).await.unwrap();
        world.crash().await;
        let weekend = 60 * 60 * 60 * 1_000;
        world.jump_clock(weekend).await;
        let report = world.restart().await;
        assert_eq!(report.overdue, 1);
        world.settle().await;
        let ended = run.state().await.unwrap().unwrap().at[0];
        assert!((weekend..weekend + 1_000).contains(&ended), "{ended}");
        world.advance(d!("2s")).await;
        assert_eq!(run.result().await.unwrap(), [ended, ended + 2_000], "the next is counted from there");
    }
}

/// H1, A5, fD1
#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_sleep_longer_and_none_shorter() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().sleeper("a");
        run.start(None).await.unwrap();
        let before = world.now();
        world.jump_clock(-10 * 24 * 60 * 60 * 1_000).await;
        world.restart().await;
        assert!(world.now() >= before, "a run never sees time go back");
        world.advance(d!("900ms")).await;
        assert!(run.state().await.unwrap().unwrap().at.is_empty());
        world.advance(d!("200ms")).await;
        let at = run.state().await.unwrap().unwrap().at;
        assert!(matches!(at[..], [at] if (1_000..=1_100).contains(&at)), "{at:?}");
    }
}

/// H1, A2, V6, fD4: no wait ends early, and no time overflows.
#[tokio::test]
async fn a_sleep_and_a_timeout_may_be_as_long_as_they_like() {
    let year = Duration::from_secs(365 * 24 * 3_600);
    for setup in both() {
        let (world, _) = started(setup).await;
        let began = world.now();
        let spans = [("25d", 25 * d!("1d")), ("300y", 300 * year), ("most", Duration::MAX)];
        for (name, span) in spans {
            world.client().distant(format!("sleep {name}")).start(Distance::Sleep(span)).await.unwrap();
            world.client().distant(format!("timeout {name}")).start(Distance::Timeout(span)).await.unwrap();
        }
        let last = Distance::Until(Timestamp::from_millis(i64::MAX));
        world.client().distant("until the end").start(last).await.unwrap();
        world
            .client()
            .distant("before the beginning")
            .start(Distance::Until(Timestamp::from_millis(i64::MIN)))
            .await
            .unwrap();
        assert_eq!(ended(&world).await, ["before the beginning"]);
        world.advance(25 * d!("1d") - d!("1ms")).await;
        assert_eq!(ended(&world).await.len(), 1, "25 days are more than 32 bits of milliseconds");
        world.advance(d!("1ms")).await;
        assert_eq!(ended(&world).await, ["before the beginning", "sleep 25d", "timeout 25d"]);
        assert_eq!(world.client().distant("timeout 25d").result().await.unwrap(), 25 * 86_400_000);
        let far = began.as_millis() + i64::try_from((300 * year).as_millis()).unwrap();
        let until = |key: &'static str| async { waits_until(&world, key).await };
        assert_eq!(until("sleep 300y").await, far);
        assert_eq!((until("sleep most").await, until("timeout most").await), (i64::MAX, i64::MAX));
        assert_eq!(until("until the end").await, i64::MAX);
        world.crash().await;
        world.jump_clock(far - world.clock().now().as_millis() - 1).await;
        world.restart().await;
        world.settle().await;
        assert!(ended(&world).await.is_empty(), "those before are kept no longer");
        world.advance(d!("1ms")).await;
        assert_eq!(ended(&world).await, ["sleep 300y", "timeout 300y"]);
        assert_eq!(until("until the end").await, i64::MAX, "and the others wait on");
    }
}

/// The keys of the runs that have ended.
async fn ended(world: &World<App>) -> Vec<String> {
    let page = world.entities().of::<Distant>().status("succeeded").await.unwrap();
    let mut keys: Vec<_> = page.entities.iter().map(|view| view.key.clone()).collect();
    keys.sort();
    keys
}

/// The time until which a run waits.
async fn waits_until(world: &World<App>, key: &str) -> i64 {
    let status = world.client().distant(key).status().await.unwrap().unwrap();
    assert!(!format!("{status:?}").is_empty(), "and can be shown");
    status.waits_for[0].until.unwrap().as_millis()
}

/// L7
#[tokio::test]
async fn a_race_has_one_winner_and_its_losers_are_let_go_in_the_same_commit() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().racer("a");
        run.start(3).await.unwrap();
        // The step has won the first round; the second round waits for all three.
        let waits = run.status().await.unwrap().unwrap().waits_for;
        let waits: Vec<_> = waits.iter().map(|wait| wait.operation.as_str()).collect();
        assert_eq!(waits, ["work#2", "wait:Go#2", "sleep#2"]);
        let before = world.counts();
        run.send(Go).await.unwrap();
        assert_eq!(world.counts().since(before).commits, 1, "the event, the winner, the losers, and what is next");
        let waits = run.status().await.unwrap().unwrap().waits_for;
        let waits: Vec<_> = waits.iter().map(|wait| wait.operation.as_str()).collect();
        assert_eq!(waits, ["work#3", "wait:Go#3", "sleep#3"]);
        world.restart().await;
        world.advance(d!("9s")).await;
        let before = world.counts();
        world.advance(d!("1s")).await;
        assert_eq!(world.counts().since(before).commits, 1, "the deadline, the losers, and the end");
        assert_eq!(run.result().await.unwrap(), ["step", "event", "deadline"]);
        // The losers were dropped, and none of their entries is recorded.
        fakes.latch.open();
        world.settle().await;
        let history = run.history().await.unwrap();
        assert_eq!(history.operations().collect::<Vec<_>>(), ["work#1", "wait:Go#2", "sleep#3"]);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Succeeded);
    }
}

/// L3, L7, fC19
#[tokio::test]
async fn a_step_that_ends_after_it_was_let_go_is_dropped_and_counted() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().racer("a");
        run.start(2).await.unwrap();
        // The step ends when the race is decided but not durable yet.
        world.store_fails(Fault::Down);
        let ends = async {
            world.settle().await;
            fakes.latch.open();
            world.advance(d!("1s")).await;
            world.store_works();
            world.advance(d!("10s")).await;
        };
        let (sent, ()) = tokio::join!(run.send(Go).into_future(), ends);
        assert!(sent.unwrap().taken);
        assert_eq!(run.result().await.unwrap(), ["step", "event"]);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.late), (RunPhase::Succeeded, 1));
        assert_eq!(run.history().await.unwrap().operations().collect::<Vec<_>>(), ["work#1", "wait:Go#2"]);
    }
}

/// L7, W4
#[tokio::test]
async fn nested_joins_and_races_go_on_alike_after_a_crash_at_every_commit() {
    let expected = ["left1 left2", "one1 one2", "two1 two2", "x0", "y0", "z0"];
    for moment in [Moment::Before, Moment::After] {
        let mut deaths = 0;
        loop {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().nested("a");
            world.crash_at_commit(deaths + 1, moment);
            let _ = run.start().idempotency_key("start").await;
            world.advance(d!("5s")).await;
            if !world.is_dead() {
                break;
            }
            deaths += 1;
            world.restart().await;
            let _ = run.start().idempotency_key("start").await;
            world.advance(d!("5s")).await;
            assert_eq!(run.result().await.unwrap(), expected, "death {moment:?} commit {deaths}");
            let said = fakes.log.take();
            let mut once = said.clone();
            once.sort();
            once.dedup();
            assert_eq!(once.len(), 9, "{said:?}");
        }
        assert!(deaths >= 4, "its start, its first steps, its sleeps, its second steps: {deaths}");
    }
}

/// L7
#[tokio::test]
async fn a_step_that_is_raced_by_reference_goes_on_when_another_wins() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().patient("a");
    run.start().await.unwrap();
    world.advance(d!("3m")).await;
    assert_eq!(fakes.log.take(), ["work"]);
    fakes.latch.open();
    world.settle().await;
    assert_eq!(run.result().await.unwrap(), 103);
}

/// W4
#[tokio::test]
async fn chance_and_time_are_the_same_in_every_replay() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().chance("a");
        run.start().await.unwrap();
        world.restart().await;
        world.advance(d!("1h")).await;
        world.restart().await;
        world.advance(d!("1h")).await;
        let (one, other, id, now) = run.result().await.unwrap();
        assert_eq!(fakes.log.take(), [format!("{one} {other} {id} {now}")]);
        assert_ne!(one, other);
        assert_eq!((id.len(), &id[14..15]), (36, "4"));
        world.client().chance("b").start().await.unwrap();
        world.advance(d!("2h")).await;
        assert_ne!(world.client().chance("b").result().await.unwrap().0, one);
    }
}

/// L7, W8
#[tokio::test]
async fn many_at_once_are_polled_when_they_are_told_and_not_otherwise() {
    let (world, _) = started(World::memory()).await;
    for arms in [10, 500] {
        let run = world.client().wide(format!("{arms}"));
        run.start(arms).await.unwrap();
        // Each is polled once when it is asked for and once when it is delivered.
        assert_eq!(run.result().await.unwrap(), 2 * (arms as usize + 5));
    }
}
