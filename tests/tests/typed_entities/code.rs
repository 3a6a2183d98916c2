//! The code of an entity: order, failures and panics (E).

use super::*;

#[derive(Primitives)]
struct App {
    tally: Tally,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// E3, E5: code that waits runs once, and sees the state as it was before the call.
#[tokio::test]
async fn an_action_that_takes_nothing_but_its_input_may_wait() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let tally = world.client().tally("t");
        assert_eq!(tally.add(1).await.unwrap(), 1);
        assert_eq!(tally.add_later(1).await.unwrap(), 2);
        let failed = tally.fail_later().await;
        assert!(matches!(failed, Err(CallError::Failed(Refusal::TooMuch { left: 0 }))), "{failed:?}");
        assert_eq!(tally.read().await.unwrap(), 2);
        let (one, two, three) = tokio::join!(tally.add_later(1), tally.add_later(2), tally.add_later(3));
        assert_eq!((one.unwrap(), two.unwrap(), three.unwrap()), (3, 5, 8));
    }
    assert_eq!(BEGUN.load(Ordering::Relaxed), 8, "four calls in each of two worlds");
}

/// E3
#[tokio::test]
async fn writing_code_of_one_entity_runs_in_order_of_arrival() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        let (one, two, three, ()) =
            tokio::join!(tally.add_slowly(1), tally.add_slowly(2), tally.add_slowly(3), async {
                world.settle().await;
                assert_eq!(fakes.log.take(), ["1 begins"]);
                fakes.latch.open();
            });
        assert_eq!((one.unwrap(), two.unwrap(), three.unwrap()), (1, 3, 6));
        assert_eq!(fakes.log.take(), ["1 ends", "2 begins", "2 ends", "3 begins", "3 ends"]);
    }
}

/// E3
#[tokio::test]
async fn reading_code_runs_together_and_sees_what_is_committed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (tally, other) = (world.client().tally("a"), world.client().tally("b"));
        tally.add(5).await.unwrap();
        let (one, two, written, ()) =
            tokio::join!(tally.read_slowly(), tally.read_slowly(), tally.add_slowly(1), async {
                world.settle().await;
                let said = fakes.log.take();
                assert_eq!(said.iter().filter(|line| *line == "reads 5").count(), 2, "{said:?}");
                // The entity answers while both kinds of code run, and other entities are not affected.
                assert_eq!(tally.state().await.unwrap(), Some(Tally { count: 5 }));
                assert!(tally.status().await.unwrap().is_some());
                assert_eq!(other.add(1).await.unwrap(), 1);
                fakes.latch.open();
            });
        assert_eq!((one.unwrap(), two.unwrap(), written.unwrap()), (5, 5, 6));
    }
}

/// E5
#[tokio::test]
async fn code_that_fails_leaves_state_alarm_and_events_as_they_were() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let (before, alarm) = (world.view("tally", "a").await.unwrap(), tally.status().await.unwrap().unwrap().alarm);
        assert_eq!(world.events().len(), 1);
        world.advance(d!("30m")).await;
        let refused = tally.add(7).await;
        assert!(matches!(refused, Err(CallError::Failed(Refusal::TooMuch { left: 6 }))), "{refused:?}");
        assert_eq!((world.view("tally", "a").await.unwrap(), world.events().len()), (before, 0));
        assert_eq!(tally.status().await.unwrap().unwrap().alarm, alarm);
        world.advance(d!("30m")).await;
        assert_eq!(fakes.log.take(), ["rings"]);
    }
}

/// E6
#[tokio::test]
async fn a_panic_is_a_failure_of_its_call_alone() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let panicked = fault(tally.panics().await);
        assert!(matches!(&panicked, Error::Panicked { message, .. } if message == "as asked"), "{panicked:?}");
        assert!(!panicked.is_retryable());
        assert_eq!(tally.read().await.unwrap(), 4);
        assert_eq!(world.client().tally("b").add(1).await.unwrap(), 1);
        world.restart().await;
        assert_eq!(world.client().tally("a").add(1).await.unwrap(), 5);
    }
}

/// E6, E8: It ends with the entity.
#[tokio::test]
async fn code_that_hangs_blocks_only_writers_of_its_own_entity() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let (late, behind, ()) =
            tokio::join!(tally.add_slowly(1).deadline(d!("5s")), tally.add(1).deadline(d!("1m")), async {
                world.advance(d!("5s")).await;
                assert_eq!((tally.read().await.unwrap(), fakes.log.take()), (4, vec!["1 begins".to_owned()]));
                assert_eq!(world.client().tally("b").add(1).await.unwrap(), 1);
                assert!(tally.destroy().await.unwrap());
            });
        assert!(matches!(fault(late), Error::Deadline { .. }));
        assert!(matches!(fault(behind), Error::Destroyed { .. }));
        fakes.latch.open();
        world.settle().await;
        assert_eq!((fakes.log.take(), tally.state().await.unwrap()), (vec![], None));
        assert_eq!(tally.add(1).await.unwrap(), 1);
    }
}
