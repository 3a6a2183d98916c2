//! A run restarts from its beginning or from a step (L4).

use super::*;

#[derive(Primitives)]
struct App {
    order: Order,
    long: Long,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L4
#[tokio::test]
async fn a_restart_begins_anew_with_the_same_input_also_after_the_end() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        assert_eq!(run.restart().await.unwrap_err().failed().unwrap(), RestartError::NotFound);
        run.start("abc".into()).await.unwrap();
        let Err(CallError::Failed(RunError::Failed(failure))) = run.result().await else { panic!("it fails") };
        assert_eq!(failure.message(), "declined");
        fakes.log.take();
        assert_eq!(run.restart().await.unwrap(), Restarted { generation: 2 });
        world.settle().await;
        assert_eq!(fakes.log.take(), ["reserve abc", "charge 3"]);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed);
        let again = run.restart_with("abcdef".into());
        assert_eq!(again.await.unwrap().generation, 3);
        world.settle().await;
        run.send(Deposit(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abcdef 60 4 1 true");
        assert_eq!(run.start_or_get("abcdef".into()).await.unwrap(), Started::Found);
        let told = world.events();
        assert_eq!(names(&told).iter().filter(|name| **name == "workflow.restarted").count(), 2);
        world.restart().await;
        assert_eq!(run.result().await.unwrap(), "abcdef 60 4 1 true");
    }
}

/// L4: It drops the waits and the work.
#[tokio::test]
async fn a_restart_of_a_live_run_keeps_its_events() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("wait".into()).await.unwrap();
        world.settle().await;
        for number in 1..=3 {
            run.send(Deposit(number)).await.unwrap();
        }
        assert_eq!(fakes.log.take(), ["reserve wait", "charge 4"]);
        run.restart_with("quick".into()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick 50 4 1 true", "the first of the events that were there");
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["reserve quick", "charge 5", "ship 50", "reserve gift"]);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Succeeded, 0));
    }
}

/// L4
#[tokio::test]
async fn a_restart_may_drop_the_events_and_takes_later_ones() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().order("a");
        run.start("wait".into()).await.unwrap();
        for round in 1..=2 {
            for number in 1..=3 {
                run.send(Deposit(number)).await.unwrap();
            }
            run.restart().drop_events().await.unwrap();
            assert!(run.events().await.unwrap().is_empty(), "{round}");
            world.restart().await;
        }
        run.restart_with("quick".into()).await.unwrap();
        world.settle().await;
        let queued = run.status().await.unwrap().unwrap().queued;
        assert_eq!(
            queued.iter().map(|of| (of.count, of.discarded)).collect::<Vec<_>>(),
            [(0, 6)],
            "counted all the same"
        );
        run.send(Deposit(7)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick 50 4 7 true");
        assert!(world.dead_letters().list(Default::default()).await.unwrap().letters.is_empty());
    }
}

/// L4, E13
#[tokio::test]
async fn a_restart_is_whole_or_not_at_all() {
    for moment in [Moment::Before, Moment::After] {
        let (world, _) = started(World::memory()).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        world.settle().await;
        world.crash_at_commit(1, moment);
        assert!(run.restart_with("quick".into()).await.is_err());
        world.restart().await;
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        let expected = match moment {
            Moment::Before => (1, RunPhase::Failed),
            _ => (2, RunPhase::Suspended),
        };
        assert_eq!((status.generation, status.phase), expected);
    }
}

/// L4
#[tokio::test]
async fn a_restart_from_a_step_keeps_what_came_before_it() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        assert!(run.result().await.is_err());
        assert_eq!(fakes.log.take(), ["reserve abc", "charge 3"]);
        let from = run.restart_from(|at| at.charge(1)).await.unwrap();
        assert_eq!(from.generation, 2);
        world.settle().await;
        assert_eq!(fakes.log.take(), ["charge 3"], "what is kept is not done again");
        run.restart_from(|at| at.charge(1).with(70)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["ship 70", "reserve gift"], "and neither is what was said");
        assert_eq!(run.state().await.unwrap().unwrap(), Order { at: 2 });
        world.restart().await;
        run.send(Deposit(2)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abc 70 4 2 true");
        let history = run.history().await.unwrap();
        replay::<Order>(&history).unwrap();
        let text = history.to_json().unwrap();
        assert!(text.contains(r#""started_as":{"generation":3,"input":["abc"]}"#), "{text}");
        run.restart_from(|at| at.reserve(1).with(8)).await.unwrap();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["charge 8", "ship 80", "reserve gift"]);
        run.send(Deposit(3)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "abc 80 4 3 true");
        replay::<Order>(&run.history().await.unwrap()).unwrap();
    }
}

/// L4
#[tokio::test]
async fn a_restart_from_a_step_that_is_not_there_changes_nothing() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().order("a");
    run.start("wait".into()).await.unwrap();
    world.settle().await;
    let refused = run.restart_from(|at| at.ship(1)).await.unwrap_err().failed().unwrap();
    assert_eq!(refused, RestartError::NoSuchStep { step: "ship".into(), nth: 1, found: 0 });
    assert!(run.restart_from(|at| at.charge(0)).await.is_err());
    assert_eq!(run.status().await.unwrap().unwrap().generation, 1);
    fakes.log.take();
    run.restart_from(|at| at.charge(1).with(1)).await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take(), ["ship 1", "reserve gift"], "one that is waited for can be told, too");
    assert!(run.cancel().await.unwrap());
    assert_eq!(fakes.log.take(), ["ship 99"]);
    let refused = run.restart_from(|at| at.ship(2)).await.unwrap_err().failed().unwrap();
    assert_eq!(refused, RestartError::NoSuchStep { step: "ship".into(), nth: 2, found: 1 }, "that was its cleanup");
    run.restart_from(|at| at.ship(1)).await.unwrap();
    world.settle().await;
    assert_eq!(fakes.log.take()[0], "ship 1");
}

/// A workflow with many steps.
#[derive(Default, Serialize, Deserialize)]
struct Long;

#[workflow]
impl Long {
    async fn run(flow: &Flow<Self>, count: u32) -> u32 {
        let mut sum = 0;
        for _ in 0..count {
            sum += flow.one().await;
        }
        sum
    }

    #[step]
    async fn one(log: &Log) -> u32 {
        log.say("one");
        1
    }
}

/// L4
#[tokio::test]
async fn of_a_long_history_any_prefix_is_kept() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().long("a");
    run.start(3_000).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_000);
    fakes.log.take();
    run.restart_from(|at| at.one(2_500)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_000);
    assert_eq!(fakes.log.take().len(), 501);
    world.restart().await;
    let history = run.history().await.unwrap();
    assert_eq!(history.len(), 3_002);
    replay::<Long>(&history).unwrap();
    run.restart_from(|at| at.one(1).with(5)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3_004);
}

/// Code that does not fit the kept part of the journal.
mod changed {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Order;

    #[workflow(events(Deposit))]
    impl Order {
        async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
            flow.check(name.clone()).await;
            let one = flow.reserve(name).await;
            flow.charge(one).await
        }

        #[step]
        async fn check(name: String) -> String {
            name
        }

        #[step]
        async fn reserve(name: String) -> u64 {
            name.len() as u64
        }

        #[step]
        async fn charge(amount: u64) -> Result<String, Failure> {
            Ok(format!("charged {amount}"))
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        order: Order,
    }
}

/// L4, W4: The run continues with code that fits.
#[tokio::test]
async fn code_that_does_not_fit_the_kept_part_stops_the_run() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().order("a");
        run.start("abc".into()).await.unwrap();
        assert!(run.result().await.is_err());
        let world = world.restart_as::<changed::App, _>(fakes.clone()).await.unwrap();
        let run = world.client().order("a");
        run.restart_from(|at| at.charge(1)).await.unwrap();
        let status = run.status().await.unwrap().unwrap();
        assert!(matches!(&status.stopped, Some(Stopped::Diverged(told)) if told.expected.contains("reserve")));
        fakes.log.take();
        let world = world.restart_as::<App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["charge 3"], "with code that fits it goes on from there");
        let run = world.client().order("a");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed);
        replay::<Order>(&run.history().await.unwrap()).unwrap();
    }
}
