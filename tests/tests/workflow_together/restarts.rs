//! Restarts of runs with undos, permits and children (L4, W9, M5, L6).

use super::*;

/// L5, W9
#[tokio::test]
async fn what_an_older_generation_did_is_not_undone_by_a_later_one() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Continue(vec![book("train"), Do::Fail])]).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["book bus", "book train", "unbook train"]);
        run.restart_with(vec![Do::Fail]).await.unwrap();
        assert!(run.result().await.is_err());
        assert!(fakes.log.take().is_empty());
    }
}

/// L4, W9: kept steps stay due to be undone; the entries of their undos are not kept.
#[tokio::test]
async fn what_a_restart_keeps_is_due_to_be_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        fakes.latch.open();
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Hold("seat".into()), book("train"), Do::Await, Do::Fail]).await.unwrap();
        world.settle().await;
        fakes.log.take();
        run.restart_from(|at| at.book(2)).await.unwrap();
        world.restart().await;
        run.send(Next(1)).await.unwrap();
        assert!(run.result().await.is_err());
        let undone = ["book train", "unbook train", r#"release seat Some("seat")"#, "unbook bus"];
        assert_eq!(fakes.log.take(), undone);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation, status.undos_left), (RunPhase::Failed, 2, 0));
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// L4, W9: a step that was undone cannot be kept, because it would be undone again. A refused restart
/// changes nothing.
#[tokio::test]
async fn a_restart_that_would_keep_an_undone_step_is_refused() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let refuses = |run: &TripHandle, nth: u32, operation: &str| {
            let (asked, operation) = (run.restart_from(|at| at.book(nth)), operation.to_owned());
            async move {
                let refused = asked.await.unwrap_err().failed().unwrap();
                assert_eq!(refused, RestartError::Undone { operation });
            }
        };
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), book("train"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Undoing);
        refuses(&run, 3, "book#2").await;
        assert!(run.terminate().await.unwrap());
        refuses(&run, 3, "book#2").await;
        assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
        fakes.log.take();
        // The first step was not undone yet, so it can be kept.
        run.restart_from(|at| at.book(2)).await.unwrap();
        fakes.latch.open();
        assert!(run.result().await.is_err());
        let undone = ["book slowly", "book train", "unbook train", "unbook slowly", "unbook bus"];
        assert_eq!(fakes.log.take(), undone);
        refuses(&run, 2, "book#1").await;
        run.restart_from(|at| at.book(1)).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(run.status().await.unwrap().unwrap().generation, 3);
    }
}

/// L4, W9: a run that is being undone can be restarted; steps that are not undone yet stay.
#[tokio::test]
async fn a_run_that_is_being_undone_can_be_restarted() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), Do::Fail]).await.unwrap();
        world.settle().await;
        fakes.log.take();
        run.restart_with(vec![book("train")]).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["train"]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["book train"]);
    }
}

/// L4
#[tokio::test]
async fn a_run_that_ended_in_any_way_can_be_restarted() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in ["succeeded", "failed", "cancelled", "terminated"] {
            let run = world.client().trip(key);
            run.start(vec![if key == "failed" { Do::Fail } else { Do::Await }]).await.unwrap();
            match key {
                "succeeded" => drop(run.send(Next(1)).await.unwrap()),
                "cancelled" => assert!(run.cancel().await.unwrap()),
                "terminated" => assert!(run.terminate().await.unwrap()),
                _ => {}
            }
            world.settle().await;
            assert!(phase(&run).await.has_ended(), "{key}");
            world.restart().await;
            assert_eq!(run.restart_with(vec![Do::Await]).await.unwrap().generation, 2, "{key}");
            assert_eq!(phase(&run).await, RunPhase::Suspended, "{key}");
            world.advance(d!("8d")).await;
            run.send(Next(7)).await.unwrap();
            assert_eq!(run.result().await.unwrap(), ["7"], "{key}");
        }
    }
}

/// L4, L1
#[tokio::test]
async fn a_run_that_is_stopped_can_be_restarted() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Await, Do::Stumble]).await.unwrap();
        run.send(Next(1)).await.unwrap();
        run.send(Next(2)).await.unwrap();
        assert_eq!(phase(&run).await, RunPhase::Panicked);
        run.restart_with(vec![Do::Await]).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["2"], "what it had not read");
    }
}

/// L4, M5: a permit that was given back before the step does not matter.
#[tokio::test]
async fn a_restart_keeps_what_came_after_a_permit_that_was_given_back() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Borrow, book("train"), Do::Await]).await.unwrap();
        world.settle().await;
        run.restart_from(|at| at.book(1)).await.unwrap();
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["train", "1"]);
        assert_eq!(fakes.log.take(), ["book train", "book train"]);
        let stats = world.client().seat("s").stats().await.unwrap();
        assert_eq!((stats.used, stats.waiting), (0, 0));
    }
}

/// L4, M5: the permit was given back by the restart, and may have a new holder.
#[tokio::test]
async fn a_restart_that_would_keep_a_permit_is_refused_and_changes_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Permit, book("train"), Do::Await]).await.unwrap();
        world.settle().await;
        let refused = run.restart_from(|at| at.book(2)).await.unwrap_err().failed().unwrap();
        assert!(
            matches!(&refused, RestartError::KeepsPermit { operation } if operation.contains("permit:")),
            "{refused}"
        );
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 1);
        run.restart_from(|at| at.book(1)).await.unwrap();
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["bus", "train", "1"]);
        assert_eq!(fakes.log.take(), ["book bus", "book train", "book bus", "book train"]);
        assert_eq!(world.client().seat("s").stats().await.unwrap().used, 0);
    }
}

/// L4, L6: the child of a kept entry has ended and does not begin again.
#[tokio::test]
async fn a_restart_from_a_step_begins_no_child_again_that_it_keeps() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), Do::Call, book("bus"), Do::Await]).await.unwrap();
        world.advance(d!("2m")).await;
        assert_eq!(fakes.log.take(), ["leg of 60 s", "book bus"]);
        run.restart_from(|at| at.book(1).with("train".into())).await.unwrap();
        world.advance(d!("2m")).await;
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), ["60", "1", "train", "1"]);
        assert!(fakes.log.take().is_empty());
        assert_eq!(world.client().tally("t").state().await.unwrap().unwrap().0, 1);
    }
}

/// L5, L6
#[tokio::test]
async fn the_end_of_an_older_generations_child_is_dropped_and_counted() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Detach(60), Do::Abandon(7_200), Do::Continue(vec![Do::Child(10_000)])]).await.unwrap();
        world.advance(d!("61m")).await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.late, status.waits_for.len()), (2, 0, 1));
        world.advance(d!("1h")).await;
        assert_eq!(run.status().await.unwrap().unwrap().late, 1, "of the one that was abandoned");
        world.advance(d!("2h")).await;
        assert_eq!(run.result().await.unwrap(), ["10000"]);
        assert_eq!(fakes.log.take(), ["leg of 60 s", "leg of 7200 s", "leg of 10000 s"]);
    }
}

/// L4, L6
#[tokio::test]
async fn a_restart_cancels_the_child_that_was_awaited_and_has_another() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(3_600)]).await.unwrap();
        world.settle().await;
        run.restart().await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["back"]);
        world.advance(d!("1h")).await;
        assert_eq!(run.result().await.unwrap(), ["3600"]);
        assert_eq!(run.status().await.unwrap().unwrap().late, 1, "how the first one ended was told");
    }
}
