//! A run that is cancelled undoes its steps (L3, W9).

use super::*;

#[derive(Primitives)]
struct App {
    trip: Trip,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// W9, L3
#[tokio::test]
async fn a_cancelled_run_outside_memory_is_undone_then_cleaned_up() {
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
async fn steps_that_end_or_hang_during_a_cancel_are_undone() {
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
async fn an_abandoned_step_is_undone_as_one_with_unknown_outcome() {
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
async fn deaths_while_steps_are_abandoned_undo_each_step_once() {
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
