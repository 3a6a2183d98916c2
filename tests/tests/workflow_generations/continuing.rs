//! A run continues as a new generation (L5).

use super::*;

#[derive(Primitives)]
struct App {
    ledger: Ledger,
    racer: Racer,
    tape: Tape,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// L5
#[tokio::test]
async fn a_new_generation_takes_the_unread_events_in_order() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().ledger("a");
        run.start(1, 0).await.unwrap();
        run.pause().await.unwrap();
        for amount in 1..=5 {
            run.send(Deposit(amount)).await.unwrap();
        }
        run.resume().await.unwrap();
        world.settle().await;
        let booked = ["1 book#1", "2 @2/book#1", "3 @3/book#1", "4 @4/book#1", "5 @5/book#1"];
        assert_eq!(fakes.log.take(), booked, "work of another generation is not the same outside, either");
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.generation, status.entries, status.late), (6, 1, 0));
        assert_eq!(run.state().await.unwrap().unwrap(), Ledger::default(), "the state begins anew");
        assert_eq!(status.waits_for.len(), 3);
        replay::<Ledger>(&run.history().await.unwrap()).unwrap();
        world.restart().await;
        assert_eq!(run.start_or_get(1, 0).await.unwrap(), Started::Found, "it is still the run that was started");
        world.advance(d!("30d")).await;
        assert_eq!(fakes.log.take(), ["0 @6/book#1"]);
        run.send(Close).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "15 after 7");
    }
}

/// L5
#[tokio::test]
async fn a_generation_ends_and_the_next_begins_in_one_commit() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().ledger("a");
        run.start(1, 0).await.unwrap();
        let before = world.counts();
        run.send(Deposit(1)).await.unwrap();
        world.settle().await;
        assert_eq!(world.counts().since(before).commits, 2, "the event, and the end of the step");
        assert_eq!(run.status().await.unwrap().unwrap().generation, 2);
        let told = world.events();
        assert!(names(&told).contains(&"workflow.continued"));
    }
}

/// L5
#[tokio::test]
async fn whoever_waits_for_a_result_waits_over_all_generations() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().ledger("a");
    run.start(1, 0).await.unwrap();
    let (result, ()) = tokio::join!(run.result().into_future(), async {
        for amount in 1..=3 {
            run.send(Deposit(amount)).await.unwrap();
            world.settle().await;
        }
        run.restart_with(10, 100).await.unwrap();
        run.send(Close).await.unwrap();
    });
    assert_eq!(result.unwrap(), "100 after 10");
}

/// Continues while a step runs, and asks for the same step again.
#[derive(Default, Serialize, Deserialize)]
struct Racer;

#[workflow(events(Deposit))]
impl Racer {
    async fn run(flow: &Flow<Self>, turn: u32) -> String {
        let first = select! {
            done = flow.slow() => done,
            _ = flow.wait_for::<Deposit>() => flow.continue_as(turn + 1).await,
        };
        format!("{first} in {turn}")
    }

    #[step]
    async fn slow(latch: &Latch, log: &Log, cx: &Context) -> String {
        log.say("begins");
        latch.clone().wait().await;
        cx.work_id().rsplit('-').next().unwrap_or_default().to_owned()
    }
}

/// L5, L3
#[tokio::test]
async fn the_outcome_of_an_older_generations_step_is_dropped() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().racer("a");
        run.start(1).await.unwrap();
        run.send(Deposit(1)).await.unwrap();
        assert_eq!(fakes.log.take(), ["begins"; 2], "each generation has a step of its own");
        fakes.latch.open();
        assert_eq!(run.result().await.unwrap(), "@2/slow#1 in 2");
    }
}

/// L5, L3: the second input comes before the commit of the first is durable.
#[tokio::test]
async fn a_steps_end_or_a_new_generation_counts_whichever_is_first() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (ended, continued) = (world.client().racer("ended"), world.client().racer("continued"));
        ended.start(1).await.unwrap();
        continued.start(1).await.unwrap();
        world.store_fails(Fault::Down);
        // The latch lets its waiters through in the order in which they came.
        fakes.latch.let_one_through();
        world.settle().await;
        let (refused, sent, ()) =
            tokio::join!(ended.send(Deposit(1)).into_future(), continued.send(Deposit(1)).into_future(), async {
                world.settle().await;
                fakes.latch.let_one_through();
                world.settle().await;
                world.store_works();
                world.advance(d!("10s")).await;
            },);
        assert_eq!(
            refused.unwrap_err().failed().unwrap(),
            SendError::Terminated { status: "succeeded".into() },
            "its step had ended"
        );
        assert_eq!(ended.result().await.unwrap(), "slow#1 in 1");
        assert!(sent.unwrap().taken);
        let status = continued.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.generation, status.late), (RunPhase::Running, 2, 1), "its step came too late");
        fakes.latch.open();
        assert_eq!(continued.result().await.unwrap(), "@2/slow#1 in 2");
    }
}

/// L5, E13
#[tokio::test]
async fn a_crash_at_any_commit_loses_no_generation_and_no_event() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let (world, fakes) = started(World::memory()).await;
            let run = world.client().ledger("a");
            run.start(1, 0).await.unwrap();
            world.crash_at_commit(n, moment);
            let mut acknowledged = 0;
            for amount in [1, 10, 100] {
                let sent = run.send(Deposit(amount)).idempotency_key(format!("{amount}"));
                if sent.await.is_err() {
                    world.restart().await;
                    run.send(Deposit(amount)).idempotency_key(format!("{amount}")).await.unwrap();
                }
                acknowledged += amount;
            }
            world.settle().await;
            if world.is_dead() {
                world.restart().await;
            }
            world.settle().await;
            assert_eq!(run.status().await.unwrap().unwrap().generation, 4, "at {n}");
            run.send(Close).await.unwrap();
            assert_eq!(run.result().await.unwrap(), format!("{acknowledged} after 4"));
            assert!(fakes.log.take().len() >= 3);
        }
    }
}

/// A tape with a new generation for each event. The input lists the events so far.
#[derive(Default, Serialize, Deserialize)]
struct Tape;

#[workflow(events(Deposit, Close))]
impl Tape {
    async fn run(flow: &Flow<Self>, mut heard: Vec<u64>) -> Vec<u64> {
        let Deposit(amount) = select! {
            deposit = flow.wait_for::<Deposit>() => deposit,
            _ = flow.wait_for::<Close>() => return heard,
        };
        heard.push(flow.hear(amount).await);
        flow.continue_as(heard).await
    }

    #[step]
    async fn hear(amount: u64) -> u64 {
        amount
    }
}

/// L5, V2, fA10, fC3
#[tokio::test]
async fn fast_events_are_taken_in_order_wherever_the_process_dies() {
    for setup in [World::memory, World::sqlite] {
        let mut deaths = 0;
        for (commit, moment) in (1..=14).flat_map(|commit| [(commit, Moment::Before), (commit, Moment::After)]) {
            let (world, _) = started(setup()).await;
            let run = world.client().tape("a");
            run.start(Vec::new()).await.unwrap();
            world.crash_at_commit(commit, moment);
            let send = |amount: u64| {
                let (run, key) = (world.client().tape("a"), format!("{amount}"));
                run.send(Deposit(amount)).idempotency_key(key).into_future()
            };
            let _ = at_once((1..=8).map(send)).await;
            world.settle().await;
            if world.is_dead() {
                deaths += 1;
                world.restart().await;
            }
            // Callers without an answer ask again.
            for answer in at_once((1..=8).map(send)).await {
                answer.unwrap();
            }
            world.settle().await;
            let when = format!("death {moment:?} commit {commit}");
            assert_eq!(run.status().await.unwrap().unwrap().generation, 9, "{when}");
            world.restart().await;
            run.send(Close).await.unwrap();
            assert_eq!(run.result().await.unwrap(), (1..=8).collect::<Vec<_>>(), "{when}");
        }
        assert!(deaths >= 16, "it dies at each of its commits: {deaths}");
    }
}
