//! An event that is sent twice, and an event that starts its run (V9, V11).

use super::*;

#[derive(Primitives)]
struct App {
    taker: Taker,
}

/// V9
#[tokio::test]
async fn an_event_that_is_sent_twice_with_one_idempotency_key_is_one() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        run.start(2, false).await.unwrap();
        for _ in 0..3 {
            run.send(Number(1)).idempotency_key("first").await.unwrap();
        }
        run.send(Number(2)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [1, 2]);
    }
}

/// V9, V7, E12
#[tokio::test]
async fn a_refused_event_can_be_sent_again_with_its_idempotency_key() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().taker("a");
        let refused = run.send(Number(7)).idempotency_key("first").await.unwrap_err().failed();
        assert_eq!(refused, Some(SendError::NotFound));
        run.start(1, true).await.unwrap();
        world.advance(d!("9m")).await;
        world.restart().await;
        for _ in 0..2 {
            run.send(Number(7)).idempotency_key("first").await.unwrap();
        }
        assert_eq!(run.events().await.unwrap().iter().filter(|event| event.event == "Number").count(), 1);
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [7]);
        let (other, paid) = (world.client().taker("b"), || Paid { order: "x".into(), amount: 4 });
        other.start(1, false).await.unwrap();
        for _ in 0..3 {
            other.send(paid()).await.unwrap();
        }
        let refused = other.send(paid()).idempotency_key("second").await.unwrap_err().failed();
        assert!(matches!(refused, Some(SendError::Full { .. })), "{refused:?}");
        world.advance(d!("1h")).await;
        for _ in 0..2 {
            other.send(paid()).idempotency_key("second").await.unwrap();
        }
        assert_eq!(other.status().await.unwrap().unwrap().queued[0].count, 1, "the others have expired");
    }
}

/// V11
#[tokio::test]
async fn a_run_and_its_first_event_are_one_commit() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let before = world.counts();
        let run = world.client().taker("a");
        assert!(run.start_with(1, false, Number(3)).await.unwrap().taken);
        assert_eq!(world.counts().since(before).commits, 1);
        assert_eq!(run.result().await.unwrap(), [3]);
        let other = world.client().taker("b");
        for number in 1..=2 {
            let before = world.counts();
            other.send_or_start(Number(number), 2, false).await.unwrap();
            assert_eq!(world.counts().since(before).commits, 1, "{number}");
        }
        assert_eq!(other.result().await.unwrap(), [1, 2]);
        assert!(run.start_with(1, false, Number(4)).await.is_err());
    }
}

/// V11, L2, fC20: The run gets both events.
#[tokio::test]
async fn two_who_send_or_start_at_once_start_one_run() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let (one, other) = (world.client().taker("a"), world.client().taker("a"));
        let (first, second) = tokio::join!(
            one.send_or_start(Number(1), 2, true).into_future(),
            other.send_or_start(Number(2), 2, true).into_future()
        );
        assert_eq!((first.unwrap().number, second.unwrap().number), (1, 2));
        world.restart().await;
        world.advance(d!("10m")).await;
        assert_eq!(one.result().await.unwrap(), [1, 2]);
        assert_eq!(one.history().await.unwrap().operations().filter(|op| op.starts_with("sleep")).count(), 1);
    }
}
