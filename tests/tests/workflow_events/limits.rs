//! How many events a run queues, how long they may be, and for how long they stay (V9, K3).

use super::*;

/// An event of the largest size.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Essay(String);

#[derive(Primitives)]
struct App {
    taker: Taker,
    crowd: Crowd,
    late: Late,
    long_gone: LongGone,
    critic: Critic,
}

/// Waits for `count` numbers at once.
#[derive(Default, Serialize, Deserialize)]
struct Crowd;

#[workflow(events(Number))]
impl Crowd {
    async fn run(flow: &Flow<Self>, count: u32) -> Vec<u32> {
        flow.sleep("1m").await;
        flow.wait_for::<Number>().times(count).await.iter().map(|number| number.0).collect()
    }
}

/// V8
#[tokio::test]
async fn a_wait_is_for_one_to_three_hundred_events() {
    let world = World::memory().start::<App>().await;
    for (count, told) in [(0, "waits for nothing"), (301, "more than 300 at once")] {
        let run = world.client().crowd(count.to_string());
        run.start(count).await.unwrap();
        world.advance(d!("1m")).await;
        let stopped = format!("{:?}", run.status().await.unwrap().unwrap().stopped);
        assert!(stopped.contains(told), "{stopped}");
    }
    let run = world.client().crowd("most");
    run.start(300).await.unwrap();
    for number in 1..=300 {
        run.send(Number(number)).await.unwrap();
    }
    world.advance(d!("1m")).await;
    assert_eq!(run.result().await.unwrap(), (1..=300).collect::<Vec<_>>());
}

/// Waits for a payment when those that were queued at the start have expired.
#[derive(Default, Serialize, Deserialize)]
struct Late;

#[workflow(events(Paid))]
impl Late {
    async fn run(flow: &Flow<Self>) -> Option<u32> {
        flow.sleep("2h").await;
        flow.wait_for::<Paid>().timeout("1m").await.ok().map(|paid| paid.amount)
    }
}

/// V9
#[tokio::test]
async fn an_event_that_has_expired_is_not_taken() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().late("a");
        run.start().await.unwrap();
        run.send(Paid { order: "x".into(), amount: 1 }).await.unwrap();
        world.restart().await;
        world.advance(d!("3h")).await;
        assert_eq!(run.result().await.unwrap(), None);
        assert_eq!(run.status().await.unwrap().unwrap().queued[0].expired, 1);
    }
}

/// Waits for a number after the week for which a run queues events.
#[derive(Default, Serialize, Deserialize)]
struct LongGone;

#[workflow(events(Number))]
impl LongGone {
    async fn run(flow: &Flow<Self>) -> Option<u32> {
        flow.sleep("8d").await;
        flow.wait_for::<Number>().timeout("1m").await.ok().map(|number| number.0)
    }
}

/// V9, K3
#[tokio::test]
async fn of_many_that_have_expired_none_is_taken_and_each_is_counted() {
    for setup in both() {
        let world = setup.start::<App>().await;
        for (key, count) in [("a few", 150_u32), ("very many", 1_100)] {
            let run = world.client().long_gone(key);
            run.start().await.unwrap();
            for number in 1..=count {
                run.send(Number(number)).await.unwrap();
            }
        }
        world.restart().await;
        world.advance(d!("9d")).await;
        for (key, count) in [("a few", 150), ("very many", 1_100)] {
            let run = world.client().long_gone(key);
            assert_eq!(run.result().await.unwrap(), None, "{key}");
            let queued = run.status().await.unwrap().unwrap().queued;
            assert_eq!((queued[0].count, queued[0].expired), (0, count), "{key}");
        }
    }
}

/// V9
#[tokio::test]
async fn queues_are_capped_and_what_nobody_takes_expires() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        run.start(1, false).await.unwrap();
        let paid = |amount| Paid { order: "x".into(), amount };
        for amount in 1..=3 {
            run.send(paid(amount)).await.unwrap();
        }
        let full = run.send(paid(4)).await.unwrap_err().failed().unwrap();
        assert_eq!(full, SendError::Full { event: "Paid".into(), limit: 3 });
        world.advance(d!("1h")).await;
        run.send(paid(5)).await.unwrap();
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.queued[0].count, status.queued[0].expired), (1, 3));
    }
}

/// Waits for two essays at once.
#[derive(Default, Serialize, Deserialize)]
struct Critic;

#[workflow(events(Essay, Paid))]
impl Critic {
    async fn run(flow: &Flow<Self>) -> Vec<usize> {
        flow.sleep("1m").await;
        flow.wait_for::<Essay>().times(2).await.iter().map(|essay| essay.0.len()).collect()
    }
}

/// V9, W11, D1
#[tokio::test]
async fn events_too_long_together_end_the_run_and_are_dead_letters() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().critic("a");
        run.start().await.unwrap();
        for letter in ["a", "b"] {
            run.send(Essay(letter.repeat(600 << 10))).await.unwrap();
        }
        world.advance(d!("1m")).await;
        let RunError::Fault(fault) = run.result().await.unwrap_err().failed().unwrap() else { panic!("a limit") };
        assert!(matches!(fault.cause, Cause::Limit { .. }), "{fault}");
        world.advance(d!("1m")).await;
        assert_eq!(world.dead_letters().count().await.unwrap(), 2);
        assert!(run.events().await.unwrap().is_empty());
    }
}

/// V9, K3: An event of the largest size also fits into a dead letter.
#[tokio::test]
async fn an_event_that_is_longer_than_the_limit_is_refused() {
    let limit = (1 << 20) - (16 << 10);
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().critic("a");
        run.start().await.unwrap();
        // The size includes the quotes.
        let refused = run.send(Essay("a".repeat(limit - 1))).await.unwrap_err().failed().unwrap();
        assert_eq!(
            refused,
            SendError::TooLarge { event: "Essay".into(), bytes: limit as u64 + 1, limit: limit as u64 }
        );
        let keyed = Paid { order: "a".repeat(limit / 2), amount: 1 };
        assert!(matches!(run.send(keyed).await.unwrap_err().failed(), Some(SendError::TooLarge { .. })));
        assert!(run.events().await.unwrap().is_empty());
        run.send(Essay("a".repeat(limit - 2))).await.unwrap();
        run.terminate().await.unwrap();
        world.advance(d!("1m")).await;
        let dead = world.dead_letters().events::<Essay>(Filter::default()).await.unwrap().events;
        assert_eq!(dead[0].event.as_ref().unwrap().0.len(), limit - 2);
    }
}

/// V9
#[tokio::test]
async fn ten_thousand_are_queued_and_the_next_is_refused() {
    let world = World::memory().start::<App>().await;
    let run = world.client().taker("a");
    run.start(1, true).await.unwrap();
    for number in 1..=10_000 {
        run.send(Number(number)).await.unwrap();
    }
    let full = run.send(Number(10_001)).await.unwrap_err().failed().unwrap();
    assert_eq!(full, SendError::Full { event: "Number".into(), limit: 10_000 });
    let queued = run.events().await.unwrap();
    assert!(
        queued.iter().map(|event| &event.body).eq((1..=10_000).map(|number| json!(number)).collect::<Vec<_>>().iter())
    );
    run.send(Price(1)).await.unwrap();
}
