//! Updates, children and undos during a pause or while a run continues (H2, L5, L8, W9).

use super::*;

/// L5, L8: exactly one generation takes the update, and nothing is parked. It harms nothing.
#[tokio::test]
async fn an_update_between_generations_is_taken_or_refused() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        let votes = async {
            let mut taken = 0;
            for _ in 0..50 {
                match run.vote().await {
                    Ok(_) => taken += 1,
                    Err(drystone::CallError::Fault(Error::NotBound { .. } | Error::Refused { .. })) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            taken
        };
        let (begun, _) = tokio::join!(run.start(vec![Do::Spin(300)]).into_future(), votes);
        begun.unwrap();
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.generation, 301, "{status:?}");
        if status.phase != RunPhase::Succeeded {
            run.vote().await.unwrap();
        }
        assert_eq!(run.result().await.unwrap(), Vec::<String>::new());
        replay::<Trip>(&run.history().await.unwrap()).unwrap();
    }
}

/// L5, L8: the state begins anew, and updates see the new state.
#[tokio::test]
async fn an_update_after_a_run_has_continued_is_the_next_generations() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Await, Do::Continue(vec![Do::Votes(2)])]).await.unwrap();
        assert_eq!(run.vote().await.unwrap(), 1);
        run.send(Next(1)).await.unwrap();
        assert_eq!(run.vote().await.unwrap(), 1);
        world.restart().await;
        assert_eq!(run.vote().await.unwrap(), 2);
        assert_eq!(phase(&run).await, RunPhase::Succeeded);
    }
}

/// H2, L8: The update itself is taken at once.
#[tokio::test]
async fn an_update_in_a_pause_takes_effect_at_resume() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Votes(1), book("bus")]).await.unwrap();
        assert!(run.pause().await.unwrap());
        assert_eq!(run.vote().await.unwrap(), 1);
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!((phase(&run).await, fakes.log.take().len()), (RunPhase::Paused, 0));
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["bus"]);
    }
}

/// H2, L6
#[tokio::test]
async fn a_child_that_ends_while_its_parent_is_paused_is_not_missed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Child(60), book("bus")]).await.unwrap();
        assert!(run.pause().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!((phase(&run).await, fakes.log.take()), (RunPhase::Paused, vec!["leg of 60 s".to_owned()]));
        world.restart().await;
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["60", "bus"]);
    }
}

/// H2, L5: a pause outlasts the generation in which it began.
#[tokio::test]
async fn a_run_that_continues_in_a_pause_is_still_held() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![Do::Hold("seat".into()), Do::Continue(vec![book("bus")])]).await.unwrap();
        assert!(run.pause().await.unwrap());
        fakes.latch.open();
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation), (RunPhase::Paused, 2));
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), ["hold seat"]);
        assert!(run.resume().await.unwrap());
        assert_eq!(run.result().await.unwrap(), ["bus"]);
    }
}

/// H2, W9: a run that is ending cannot be paused.
#[tokio::test]
async fn a_run_that_is_being_undone_is_not_paused() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), book("slowly"), Do::Fail]).await.unwrap();
        world.settle().await;
        assert_eq!(phase(&run).await, RunPhase::Undoing);
        assert!(!run.pause().await.unwrap());
        assert!(matches!(fault(run.vote().await), Error::Refused { status, .. } if status == "undoing"));
        fakes.latch.open();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["book bus", "book slowly", "unbook slowly", "unbook bus"]);
    }
}

/// W9, H2: a cancelled run is undone even if it was paused.
#[tokio::test]
async fn a_paused_run_that_is_cancelled_is_undone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().trip("a");
        run.start(vec![book("bus"), Do::Await]).await.unwrap();
        world.settle().await;
        assert!(run.pause().await.unwrap() && run.cancel().await.unwrap());
        world.settle().await;
        assert_eq!(phase(&run).await, RunPhase::Cancelled);
        assert_eq!(fakes.log.take(), ["book bus", "unbook bus"]);
    }
}
