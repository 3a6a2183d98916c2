//! Children, calls and permits of one run, and their costs (L6, M5, R8).

use super::*;

/// L6, fA4
#[tokio::test]
async fn an_ended_child_is_there_at_once_when_awaited_again() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Later(600)]).await.unwrap();
        world.advance(d!("30m")).await;
        world.restart().await;
        world.advance(d!("31m")).await;
        assert_eq!(run.result().await.unwrap(), ["600", "0"]);
    }
}

/// L6: the key of a child follows from its name, which belongs to one child within a generation. The first
/// child is not touched.
#[tokio::test]
async fn a_second_child_of_the_same_name_is_refused() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), Do::Child(60), Do::Continue(vec![Do::Child(30)])]).await.unwrap();
        world.advance(d!("1m")).await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.waits_for.len()), (2, 1), "what it was told of the second is a value");
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), ["30"], "in the next generation it is another");
        assert_eq!(fakes.log.take(), ["leg of 60 s", "leg of 30 s"]);
    }
}

/// L6, L9: a child that outlives its parent tells no run about its end, and makes no dead letter.
#[tokio::test]
async fn a_child_that_outlives_the_record_of_its_parent_ends_in_silence() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Detach(20 * 86_400)]).await.unwrap();
        world.advance(d!("10d")).await;
        assert!(run.status().await.unwrap().is_none());
        world.advance(d!("11d")).await;
        assert_eq!(fakes.log.take().len(), 1);
        assert!(run.status().await.unwrap().is_none());
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

/// M5, L5: a call in a later generation is a new call, not a repeat.
#[tokio::test]
async fn each_generation_calls_anew() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        let third = vec![Do::Call, Do::Await];
        run.start(vec![Do::Call, Do::Continue(vec![Do::Call, Do::Continue(third)])]).await.unwrap();
        world.settle().await;
        run.restart().await.unwrap();
        world.settle().await;
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["4", "1"]);
    }
}

/// M5, L4, L5, S5
#[tokio::test]
async fn a_permit_comes_back_with_its_generation() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (one, two) = (world.client().trip("a"), world.client().trip("b"));
        one.start(vec![Do::Permit, Do::Await, Do::Continue(vec![Do::Await])]).await.unwrap();
        world.settle().await;
        two.start(vec![Do::Permit, Do::Await]).await.unwrap();
        world.settle().await;
        assert!(two.status().await.unwrap().unwrap().waits_for[0].operation.starts_with("permit:"));
        one.send(Next(1)).await.unwrap();
        world.settle().await;
        assert!(two.status().await.unwrap().unwrap().waits_for[0].operation.starts_with("wait:"));
        two.restart_with(vec![Do::Await]).await.unwrap();
        world.settle().await;
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 0);
        assert!(!names(&world.events()).contains(&"workflow.panicked"));
    }
}

/// The costs of an action in commits, entity writes, rows and read calls.
async fn cost(world: &World<App>, what: impl Future) -> (u64, u64, u64, u64) {
    let before = world.counts();
    what.await;
    world.settle().await;
    let after = world.counts().since(before);
    (after.commits, after.entities, after.rows, after.read_calls)
}

/// L5, L6, L8, H2, W9, M5
#[tokio::test]
async fn what_the_parts_of_a_run_cost() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let client = world.client();
        let start = |key: &'static str, plan: Vec<Do>| {
            let run = client.trip(key);
            async move { run.start(plan).await.unwrap() }
        };
        client.tally("t").add().await.unwrap();
        assert_eq!(cost(&world, start("a", vec![Do::Await])).await, (1, 1, 0, 1));
        let run = client.trip("a");
        assert_eq!(cost(&world, run.vote().into_future()).await, (1, 1, 0, 0), "an update is an entry");
        assert_eq!(cost(&world, run.pause().into_future()).await, (1, 1, 0, 0));
        assert_eq!(cost(&world, run.resume().into_future()).await, (1, 1, 0, 0));
        assert_eq!(cost(&world, run.restart().into_future()).await, (1, 1, 0, 0), "its input lies in the record");
        assert_eq!(cost(&world, start("b", vec![book("x")])).await, (2, 2, 0, 1), "a success undoes nothing");
        // The commit in which the step ends also ends the generation and begins the next one.
        assert_eq!(cost(&world, start("c", vec![book("x"), Do::Continue(vec![])])).await, (2, 2, 0, 1));
        // An undo is one commit, like the step.
        assert_eq!(cost(&world, start("d", vec![book("x"), Do::Fail])).await, (3, 3, 2, 1));
        assert_eq!(cost(&world, start("e", vec![book("x"), book("y"), Do::Fail])).await, (5, 5, 4, 2));
        // The run's start, the call, and the run's end.
        assert_eq!(cost(&world, start("f", vec![Do::Call])).await, (3, 3, 0, 2));
        // The same, and the return of the permit.
        assert_eq!(cost(&world, start("g", vec![Do::Permit])).await, (4, 4, 6, 4));
        // A child with one step, and two commits of its parent: the first begins the child, the second
        // takes its end.
        assert_eq!(cost(&world, start("h", vec![Do::Child(0)])).await, (4, 4, 0, 2));
    }
}
