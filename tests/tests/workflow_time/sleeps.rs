//! Sleeps and deadlines (L7).

use super::*;

#[derive(Primitives)]
struct App {
    sleeper: Sleeper,
    distant: Distant,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

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
async fn a_sleep_until_the_past_ends_in_the_same_commit() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().sleeper("a");
    run.start(Some(1)).await.unwrap();
    world.advance(d!("1s")).await;
    let before = world.counts();
    world.advance(d!("2s")).await;
    assert_eq!(run.try_result().await.unwrap(), Some(vec![1_000, 3_000, 3_000]));
    assert_eq!(world.counts().since(before).commits, 1);
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

/// The keys of the runs that have ended.
async fn ended(world: &World<App>) -> Vec<String> {
    let page = world.entities().of::<Distant>().status("succeeded").await.unwrap();
    let mut keys: Vec<_> = page.entities.iter().map(|view| view.key.clone()).collect();
    keys.sort();
    keys
}

/// H1, A4, fA12: the sleep ends at once, however long ago it was due.
#[tokio::test]
async fn a_sleep_that_is_due_during_downtime_ends_after_the_start() {
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
async fn a_clock_that_is_set_back_changes_no_sleep() {
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

/// The time until which a run waits.
async fn waits_until(world: &World<App>, key: &str) -> i64 {
    let status = world.client().distant(key).status().await.unwrap().unwrap();
    assert!(!format!("{status:?}").is_empty(), "and can be shown");
    status.waits_for[0].until.unwrap().as_millis()
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
