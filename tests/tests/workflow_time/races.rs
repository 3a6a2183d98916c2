//! Races, joins, chance and time (L7, W4).

use super::*;

#[derive(Primitives)]
struct App {
    racer: Racer,
    nested: Nested,
    patient: Patient,
    wide: Wide,
    chance: Chance,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// L7: It has one winner.
#[tokio::test]
async fn a_race_releases_its_losers_in_the_same_commit() {
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
async fn a_step_that_ends_after_its_release_is_dropped_and_counted() {
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

/// L7, W4
#[tokio::test]
async fn nested_joins_and_races_resume_after_a_crash_at_every_commit() {
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
