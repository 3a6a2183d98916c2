//! An event and the deadline of a wait (V6).

use super::*;

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

/// Waits with a deadline, and later without a deadline.
#[derive(Default, Serialize, Deserialize)]
struct Impatient;

#[workflow(events(Number))]
impl Impatient {
    async fn run(flow: &Flow<Self>) -> Result<String, Failure> {
        let first = flow.wait_for::<Number>().timeout("1m").await;
        let told = first.map_or_else(|timeout| timeout.to_string(), |Number(number)| number.to_string());
        flow.note(told.clone()).await;
        let Number(second) = flow.wait_for::<Number>().await;
        Ok(format!("{told} then {second}"))
    }

    #[step]
    async fn note(told: String, log: &Log) {
        log.say(told);
    }
}

#[derive(Primitives)]
struct App {
    impatient: Impatient,
    keys: Keys,
    race: Race,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// V4
#[tokio::test]
async fn a_wait_that_finds_its_event_queued_sets_no_alarm() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (run, waits) = (world.client().impatient("a"), world.client().impatient("b"));
        assert!(run.start_with(Number(1)).await.unwrap().taken);
        assert_eq!(world.view("impatient", "a").await.unwrap().unwrap().meta.alarm, None);
        waits.start().await.unwrap();
        assert!(world.view("impatient", "b").await.unwrap().unwrap().meta.alarm.is_some(), "there it waits");
    }
}

/// V6, fC1
#[tokio::test]
async fn a_timed_out_wait_leaves_the_event_to_the_next_wait() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().impatient("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["no event `Number` came within 60s"]);
        world.restart().await;
        run.send(Number(5)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "no event `Number` came within 60s then 5");
        let in_time = world.client().impatient("b");
        in_time.start().await.unwrap();
        in_time.send(Number(1)).await.unwrap();
        world.advance(d!("2m")).await;
        assert_eq!(fakes.log.take(), ["1"], "the deadline went with the event");
        in_time.send(Number(2)).await.unwrap();
        assert_eq!(in_time.result().await.unwrap(), "1 then 2");
    }
}

/// V6, H2: A pause makes the run look at both at the same time.
#[tokio::test]
async fn an_event_after_the_deadline_is_for_the_next_wait() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().impatient("a");
        run.start().await.unwrap();
        run.pause().await.unwrap();
        world.advance(d!("2m")).await;
        run.send(Number(5)).await.unwrap();
        world.restart().await;
        run.resume().await.unwrap();
        assert_eq!(run.result().await.unwrap(), "no event `Number` came within 60s then 5");
        fakes.log.take();
        let in_time = world.client().impatient("b");
        in_time.start().await.unwrap();
        in_time.pause().await.unwrap();
        in_time.send(Number(6)).await.unwrap();
        world.advance(d!("2m")).await;
        in_time.resume().await.unwrap();
        in_time.send(Number(7)).await.unwrap();
        assert_eq!(in_time.result().await.unwrap(), "6 then 7");
    }
}

/// V6
#[tokio::test]
async fn an_event_that_comes_at_the_very_deadline_is_in_time() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (key, waits, result) in
            [("at", d!("60s"), "5 then 6"), ("behind", d!("60001ms"), "no event `Number` came within 60s then 5")]
        {
            let run = world.client().impatient(key);
            run.start().await.unwrap();
            // The pause makes the run look at the deadline and the event at the same time.
            run.pause().await.unwrap();
            world.advance(waits).await;
            run.send(Number(5)).await.unwrap();
            run.resume().await.unwrap();
            let _ = run.send(Number(6)).await;
            assert_eq!(run.result().await.unwrap(), result, "{key}");
        }
    }
}

/// Waits for one payment of an order and for two of another, each for a minute.
#[derive(Default, Serialize, Deserialize)]
struct Keys;

#[workflow(events(Paid))]
impl Keys {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.sleep("1m").await;
        let late = flow.wait_for::<Paid>().key("order-1").timeout("1m").await;
        let two = flow.wait_for::<Paid>().key("order-2").times(2).timeout("1m").await;
        let in_time = two.into_iter().flatten().map(|paid| paid.amount);
        in_time.chain([late.map_or(0, |paid| paid.amount)]).collect()
    }
}

/// V8, V6
#[tokio::test]
async fn a_key_a_count_and_a_deadline_hold_together() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().keys("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        for amount in [20, 21] {
            run.send(Paid { order: "order-2".into(), amount }).await.unwrap();
        }
        world.restart().await;
        world.advance(d!("59s")).await;
        assert_eq!(run.try_result().await.unwrap(), None, "others are not what it waits for");
        world.advance(d!("1s")).await;
        assert_eq!(run.result().await.unwrap(), [20, 21, 0]);
        let too_few = world.client().keys("b");
        too_few.start().await.unwrap();
        world.advance(d!("1m")).await;
        for (order, amount) in [("order-1", 1), ("order-2", 2)] {
            too_few.send(Paid { order: order.into(), amount }).await.unwrap();
        }
        world.advance(d!("1m")).await;
        assert_eq!(too_few.result().await.unwrap(), [1]);
    }
}

/// Waits for a number for an hour, and sleeps for two beside it.
#[derive(Default, Serialize, Deserialize)]
struct Race;

#[workflow(events(Number))]
impl Race {
    async fn run(flow: &Flow<Self>) -> [u32; 2] {
        flow.sleep("1m").await;
        select! {
            number = flow.wait_for::<Number>().timeout("1h") => [1, number.map_or(0, |number| number.0)],
            _ = flow.sleep("2h") => [2, 0],
        }
    }
}

/// V6, L7: An event that came after both changes nothing.
#[tokio::test]
async fn a_deadline_wins_over_what_was_due_later() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().race("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        run.pause().await.unwrap();
        world.advance(d!("3h")).await;
        run.send(Number(7)).await.unwrap();
        run.resume().await.unwrap();
        assert_eq!(run.result().await.unwrap(), [1, 0]);
    }
}

/// V6, fC7
#[tokio::test]
async fn a_deadline_that_passes_during_the_commit_that_clears_it_is_void() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().impatient("a");
        run.start().await.unwrap();
        world.advance(d!("59s")).await;
        world.store_fails(Fault::Down);
        let passes = async {
            world.advance(d!("5s")).await;
            world.store_works();
            world.advance(d!("10s")).await;
        };
        let (sent, ()) = tokio::join!(run.send(Number(1)).into_future(), passes);
        assert!(sent.unwrap().taken);
        assert_eq!(fakes.log.take(), ["1"]);
        run.send(Number(2)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "1 then 2");
    }
}
