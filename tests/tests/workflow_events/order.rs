//! Events are queued in order and taken once, also by a run that is not in memory (V1, V2, V4, V5).

use super::*;

#[derive(Primitives)]
struct App {
    taker: Taker,
    finder: Finder,
    adder: Adder,
}

/// V1, V2, V4, V12, fC5, fA4
#[tokio::test]
async fn events_sent_before_their_waits_are_all_taken_in_order() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        run.start(12, true).await.unwrap();
        for number in 1..=12 {
            assert!(!run.send(Number(number)).await.unwrap().taken);
            if number % 5 == 0 {
                world.restart().await;
            }
        }
        let queued = run.events().await.unwrap();
        assert_eq!(queued.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        assert_eq!((queued[0].event.as_str(), &queued[0].body), ("Number", &json!(1)));
        assert!(queued.iter().all(|event| event.sent_at == world.now()));
        let before = world.counts();
        world.advance(d!("10m")).await;
        assert_eq!(run.try_result().await.unwrap().unwrap(), (1..=12).collect::<Vec<_>>());
        assert_eq!(world.counts().since(before).commits, 1, "never seen waiting");
        assert!(run.events().await.unwrap().is_empty());
    }
}

/// V2
#[tokio::test]
async fn more_events_than_are_read_at_once_are_each_taken_once() {
    for setup in both() {
        let world = setup.start::<App>().await;
        for key in ["warm", "cold"] {
            let run = world.client().taker(key);
            run.start(150, true).await.unwrap();
            for number in 1..=150 {
                run.send(Number(number)).await.unwrap();
            }
        }
        world.restart().await;
        world.client().taker("warm").send(Number(151)).await.unwrap();
        world.advance(d!("10m")).await;
        for key in ["warm", "cold"] {
            assert_eq!(world.client().taker(key).result().await.unwrap(), (1..=150).collect::<Vec<_>>(), "{key}");
        }
    }
}

/// Takes ten numbers at once, 120 times.
#[derive(Default, Serialize, Deserialize)]
struct Adder;

#[workflow(events(Number))]
impl Adder {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.sleep("1m").await;
        let mut sums = Vec::new();
        for _ in 0..120 {
            sums.push(flow.wait_for::<Number>().times(10).await.iter().map(|number| number.0).sum());
        }
        sums
    }
}

/// V2, V8, K3
#[tokio::test]
async fn more_events_than_one_commit_can_take_are_taken_in_several() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (ones, tens) = (world.client().taker("ones"), world.client().adder("tens"));
        ones.start(450, true).await.unwrap();
        tens.start().await.unwrap();
        for number in 1..=450 {
            ones.send(Number(number)).await.unwrap();
        }
        for number in 1..=1_200 {
            assert!(!tens.send(Number(number)).await.unwrap().taken, "it sleeps");
        }
        world.advance(d!("10m")).await;
        assert_eq!(ones.result().await.unwrap(), (1..=450).collect::<Vec<_>>());
        let sums: Vec<u32> = (0..120).map(|ten| (1..=10).map(|number| ten * 10 + number).sum()).collect();
        assert_eq!(tens.result().await.unwrap(), sums);
    }
}

/// V4, V8
#[tokio::test]
async fn an_event_is_found_behind_more_than_are_read_at_once() {
    for setup in both() {
        let world = setup.start::<App>().await;
        for restarts in [false, true] {
            let run = world.client().finder(format!("{restarts}"));
            run.start("b".into()).await.unwrap();
            for number in 1..=100 {
                run.send(Parcel { shelf: "a".into(), number }).await.unwrap();
            }
            if restarts {
                world.restart().await;
            }
            assert!(run.send(Parcel { shelf: "b".into(), number: 7 }).await.unwrap().taken);
            assert_eq!(run.result().await.unwrap(), 7);
        }
    }
}

/// V4
#[tokio::test]
async fn buffering_alone_wakes_nobody() {
    let world = World::memory().start::<App>().await;
    let run = world.client().taker("a");
    run.start(1, true).await.unwrap();
    let before = run.status().await.unwrap().unwrap();
    run.send(Number(1)).await.unwrap();
    let after = run.status().await.unwrap().unwrap();
    assert_eq!((before.entries, before.waits_for), (after.entries, after.waits_for));
}

/// V5
#[tokio::test]
async fn an_awaited_event_is_taken_in_the_commit_that_stores_it() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        run.start(2, false).await.unwrap();
        let before = world.counts();
        assert!(run.send(Number(7)).await.unwrap().taken);
        assert_eq!(world.counts().since(before).commits, 1);
        assert_eq!(run.state().await.unwrap().unwrap().taken, [7]);
        world.restart().await;
        assert!(run.events().await.unwrap().is_empty(), "a consumed event does not return");
        run.send(Number(8)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [7, 8]);
    }
}

/// V4, W8
#[tokio::test]
async fn an_unawaited_event_does_not_bring_a_run_back_to_memory() {
    for setup in both() {
        let setup = setup.options(|options| options.evict_after = d!("5s"));
        let world = setup.start::<App>().await;
        let run = world.client().finder("a");
        let shelf = "so long that the journal is more than a short start: ".repeat(10);
        run.start(shelf.clone()).await.unwrap();
        world.advance(d!("7s")).await;
        assert!(world.kernel().counts().left > 0, "it is gone from memory");
        run.status().await.unwrap();
        let before = world.counts();
        for number in 1..=3 {
            assert!(!run.send(Parcel { shelf: "b".into(), number }).await.unwrap().taken);
        }
        let cost = world.counts().since(before);
        assert_eq!((cost.commits, cost.reads), (3, 0), "its record is there, and its journal is not needed");
        assert!(run.send(Parcel { shelf, number: 7 }).await.unwrap().taken);
        assert!(world.counts().since(before).reads > 0, "now it is");
        assert_eq!(run.result().await.unwrap(), 7);
    }
}

/// W8
#[tokio::test]
async fn an_idle_run_leaves_memory_and_an_event_replays_it() {
    let setup = World::memory().options(|options| options.evict_after = d!("5s"));
    let world = setup.start::<App>().await;
    let run = world.client().taker("a");
    run.start(3, false).await.unwrap();
    let before = world.counts();
    run.send(Number(1)).await.unwrap();
    assert_eq!(world.counts().since(before).reads, 0, "a live run goes on without a replay");
    world.advance(d!("7s")).await;
    assert!(world.kernel().counts().left > 0, "it is gone from memory");
    let before = world.counts();
    run.send(Number(2)).await.unwrap();
    assert!(world.counts().since(before).reads > 0, "its journal was read");
    run.send(Number(3)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [1, 2, 3]);
}

/// V5, fA2
#[tokio::test]
async fn a_crash_at_any_commit_loses_no_event_and_takes_none_twice() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let world = World::sqlite().start::<App>().await;
            let run = world.client().taker("a");
            world.crash_at_commit(n, moment);
            let mut told = 0;
            while told < 5 {
                let sent = if told == 0 {
                    run.start(4, false).idempotency_key("start").await.is_ok()
                } else {
                    run.send(Number(told)).idempotency_key(told.to_string()).await.is_ok()
                };
                if sent {
                    told += 1;
                } else {
                    world.restart().await;
                }
            }
            assert_eq!(run.result().await.unwrap(), [1, 2, 3, 4], "death {moment:?} commit {n}");
        }
    }
}
