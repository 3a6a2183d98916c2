//! Events to one run: kept in order and taken once, whatever happens meanwhile (V).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Event, Failure, Flow, Primitives, Services, d,
    dead_letters::Filter,
    testing::{Fault, Log, Moment, Setup, World},
    workflow,
    workflow::{Cause, RunError, RunPhase, SendError},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Number(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "latest")]
struct Price(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(keep = "first", on_terminated = "discard")]
struct Bid(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order, max_queued = 3, expires = "1h")]
struct Paid {
    order: String,
    amount: u32,
}

/// An event of the largest size.
#[derive(Debug, Event, Serialize, Deserialize)]
struct Essay(String);

/// An event with a key of two fields.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = (aisle, shelf))]
struct Stocked {
    number: u32,
    shelf: u8,
    aisle: String,
}

/// Events with names that nearly equal other names, or look like stored names.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "Num")]
struct Shorter(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "event/Number")]
struct Lane(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "Number\0")]
struct Ended(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "wait:Number#1")]
struct Operation(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "🦀'; DROP TABLE row; --")]
struct Crab(u32);

/// Sleeps and takes an event of each type.
#[derive(Default, Serialize, Deserialize)]
struct Odd;

#[workflow(events(Number, Shorter, Lane, Ended, Operation, Crab))]
impl Odd {
    async fn run(flow: &Flow<Self>) -> Vec<u32> {
        flow.sleep("10m").await;
        let (number, shorter) = (flow.wait_for::<Number>().await.0, flow.wait_for::<Shorter>().await.0);
        let (lane, ended, operation, crab) = join!(
            flow.wait_for::<Lane>(),
            flow.wait_for::<Ended>(),
            flow.wait_for::<Operation>(),
            flow.wait_for::<Crab>()
        );
        vec![number, shorter, lane.0, ended.0, operation.0, crab.0]
    }
}

/// Takes `count` numbers in sequence. May sleep first.
#[derive(Default, Serialize, Deserialize)]
struct Taker {
    taken: Vec<u32>,
}

#[workflow(events(Number, Price, Bid, Paid))]
impl Taker {
    async fn run(flow: &Flow<Self>, count: u32, sleeps: bool) -> Vec<u32> {
        if sleeps {
            flow.sleep("10m").await;
        }
        for _ in 0..count {
            let Number(number) = flow.wait_for::<Number>().await;
            flow.update(|taker| taker.taken.push(number));
        }
        flow.look(|taker| taker.taken.clone())
    }
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

/// Waits for single-slot events, for keys, and for several events at once.
#[derive(Default, Serialize, Deserialize)]
struct Picky;

#[workflow(events(Price, Bid, Paid, Number, Stocked, Essay))]
impl Picky {
    async fn run(flow: &Flow<Self>, what: String) -> Vec<u32> {
        flow.sleep("1m").await;
        match what.as_str() {
            "slots" => vec![flow.wait_for::<Price>().await.0, flow.wait_for::<Bid>().await.0],
            "key" => {
                let second = flow.wait_for::<Paid>().key("order-2").await;
                let any = flow.wait_for::<Paid>().await;
                vec![second.amount, any.amount]
            }
            "key in time" => {
                let late = flow.wait_for::<Paid>().key("order-1").timeout("1m").await;
                let two = flow.wait_for::<Paid>().key("order-2").times(2).timeout("1m").await;
                let in_time = two.into_iter().flatten().map(|paid| paid.amount);
                in_time.chain([late.map_or(0, |paid| paid.amount)]).collect()
            }
            "two fields" => {
                let second = flow.wait_for::<Stocked>().key(("a/1".to_owned(), 2)).await;
                let any = flow.wait_for::<Stocked>().await;
                vec![second.number, any.number]
            }
            "three" => match flow.wait_for::<Number>().times(3).timeout("1m").await {
                Ok(numbers) => numbers.into_iter().map(|number| number.0).collect(),
                Err(_) => vec![flow.wait_for::<Number>().await.0],
            },
            "tens" => {
                let mut sums = Vec::new();
                for _ in 0..120 {
                    sums.push(flow.wait_for::<Number>().times(10).await.iter().map(|number| number.0).sum());
                }
                sums
            }
            "none" => flow.wait_for::<Number>().times(0).await.iter().map(|number| number.0).collect(),
            "too many" => flow.wait_for::<Number>().times(301).await.iter().map(|number| number.0).collect(),
            "as many as can be" => flow.wait_for::<Number>().times(300).await.iter().map(|number| number.0).collect(),
            "two essays" => flow.wait_for::<Essay>().times(2).await.iter().map(|essay| essay.0.len() as u32).collect(),
            "number or sleep" => select! {
                number = flow.wait_for::<Number>().timeout("1h") => vec![1, number.map_or(0, |number| number.0)],
                _ = flow.sleep("2h") => vec![2],
            },
            "long gone" => {
                flow.sleep("8d").await;
                let number = flow.wait_for::<Number>().timeout("1m").await;
                number.into_iter().map(|number| number.0).collect()
            }
            "late" => {
                flow.sleep("2h").await;
                let paid = flow.wait_for::<Paid>().timeout("1m").await;
                paid.into_iter().map(|paid| paid.amount).collect()
            }
            "any" => {
                let which = select! {
                    number = flow.wait_for::<Number>() => number.0,
                    price = flow.wait_for::<Price>() => price.0,
                };
                vec![which]
            }
            _ => {
                let (number, price) = join!(flow.wait_for::<Number>(), flow.wait_for::<Price>());
                vec![number.0, price.0]
            }
        }
    }
}

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = shelf)]
struct Parcel {
    shelf: String,
    number: u32,
}

/// Waits for one event among many.
#[derive(Default, Serialize, Deserialize)]
struct Finder;

#[workflow(events(Parcel))]
impl Finder {
    async fn run(flow: &Flow<Self>, shelf: String) -> u32 {
        flow.wait_for::<Parcel>().key(shelf).await.number
    }
}

#[derive(Primitives)]
struct App {
    odd: Odd,
    finder: Finder,
    taker: Taker,
    impatient: Impatient,
    picky: Picky,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// V1, V2, V4, V12, fC5, fA4
#[tokio::test]
async fn events_sent_before_their_waits_are_all_taken_in_order() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().taker("a");
        run.start(12, true).await.unwrap();
        for number in 1..=12 {
            assert!(!run.send(Number(number)).await.unwrap().taken);
            if number % 5 == 0 {
                world.restart().await;
            }
        }
        let queued = run.events().await.unwrap();
        assert_eq!(queued.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
        assert_eq!((queued[0].event.as_str(), &queued[0].body), ("Number", &json!(1)));
        assert!(queued.iter().all(|event| event.sent_at == world.now()));
        let before = world.counts();
        world.advance(d!("10m")).await;
        assert_eq!(run.try_result().await.unwrap().unwrap(), (1..=12).collect::<Vec<_>>());
        assert_eq!(world.counts().since(before).commits, 1, "never seen waiting");
        assert!(run.events().await.unwrap().is_empty());
    }
}

/// V12
#[tokio::test]
async fn queued_events_are_listed_page_by_page_whatever_their_type() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().taker("a");
        assert!(run.events().await.unwrap().is_empty(), "there is no such run");
        run.start(1, true).await.unwrap();
        for number in 1..=250 {
            if number % 100 == 0 {
                run.send(Paid { order: "x".into(), amount: number }).await.unwrap();
            } else {
                run.send(Number(number)).await.unwrap();
            }
        }
        let first = run.events_after(0).await.unwrap();
        assert_eq!((first.events.len(), first.next), (200, Some(200)));
        let second = run.events_after(200).await.unwrap();
        assert_eq!((second.events.len(), second.events[0].number, second.next), (50, 201, None));
        let all = run.events().await.unwrap();
        assert_eq!(all.iter().map(|event| event.number).collect::<Vec<_>>(), (1..=250).collect::<Vec<_>>());
        assert_eq!((all[98].event.as_str(), all[99].event.as_str()), ("Number", "Paid"));
    }
}

/// V12
#[tokio::test]
async fn long_events_are_listed_a_few_at_a_time() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().taker("a");
    run.start(1, true).await.unwrap();
    for amount in 1..=3 {
        run.send(Paid { order: "x".repeat(300 << 10), amount }).await.unwrap();
    }
    let first = run.events_after(0).await.unwrap();
    assert_eq!((first.events.len(), first.next), (1, Some(1)));
    assert_eq!(run.events().await.unwrap().len(), 3);
}

/// V2
#[tokio::test]
async fn more_events_than_are_read_at_once_are_each_taken_once() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in ["warm", "cold"] {
            let run = world.client().taker(key);
            run.start(150, true).await.unwrap();
            for number in 1..=150 {
                run.send(Number(number)).await.unwrap();
            }
        }
        world.restart().await;
        world.client().taker("warm").send(Number(151)).await.unwrap();
        world.advance(d!("10m")).await;
        for key in ["warm", "cold"] {
            assert_eq!(world.client().taker(key).result().await.unwrap(), (1..=150).collect::<Vec<_>>(), "{key}");
        }
    }
}

/// V2, V8, K3
#[tokio::test]
async fn more_events_than_one_commit_can_take_are_taken_in_several() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (ones, tens) = (world.client().taker("ones"), world.client().picky("tens"));
        ones.start(450, true).await.unwrap();
        tens.start("tens".into()).await.unwrap();
        for number in 1..=450 {
            ones.send(Number(number)).await.unwrap();
        }
        for number in 1..=1_200 {
            assert!(!tens.send(Number(number)).await.unwrap().taken, "it sleeps");
        }
        world.advance(d!("10m")).await;
        assert_eq!(ones.result().await.unwrap(), (1..=450).collect::<Vec<_>>());
        let sums: Vec<u32> = (0..120).map(|ten| (1..=10).map(|number| ten * 10 + number).sum()).collect();
        assert_eq!(tens.result().await.unwrap(), sums);
    }
}

/// V8
#[tokio::test]
async fn a_wait_is_for_one_to_three_hundred_events() {
    let (world, _) = started(World::memory()).await;
    for (what, told) in [("none", "waits for nothing"), ("too many", "more than 300 at once")] {
        let run = world.client().picky(what);
        run.start(what.into()).await.unwrap();
        world.advance(d!("1m")).await;
        let stopped = format!("{:?}", run.status().await.unwrap().unwrap().stopped);
        assert!(stopped.contains(told), "{stopped}");
    }
    let run = world.client().picky("most");
    run.start("as many as can be".into()).await.unwrap();
    for number in 1..=300 {
        run.send(Number(number)).await.unwrap();
    }
    world.advance(d!("1m")).await;
    assert_eq!(run.result().await.unwrap(), (1..=300).collect::<Vec<_>>());
}

/// V4, V8
#[tokio::test]
async fn an_event_is_found_behind_more_than_are_read_at_once() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for restarts in [false, true] {
            let run = world.client().finder(format!("{restarts}"));
            run.start("b".into()).await.unwrap();
            for number in 1..=100 {
                run.send(Parcel { shelf: "a".into(), number }).await.unwrap();
            }
            if restarts {
                world.restart().await;
            }
            assert!(run.send(Parcel { shelf: "b".into(), number: 7 }).await.unwrap().taken);
            assert_eq!(run.result().await.unwrap(), 7);
        }
    }
}

/// V9
#[tokio::test]
async fn an_event_that_has_expired_is_not_taken() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("late".into()).await.unwrap();
        run.send(Paid { order: "x".into(), amount: 1 }).await.unwrap();
        world.restart().await;
        world.advance(d!("3h")).await;
        assert_eq!(run.result().await.unwrap(), [] as [u32; 0]);
        assert_eq!(run.status().await.unwrap().unwrap().queued[0].expired, 1);
    }
}

/// V9, K3
#[tokio::test]
async fn of_many_that_have_expired_none_is_taken_and_each_is_counted() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (key, count) in [("a few", 150_u32), ("very many", 1_100)] {
            let run = world.client().picky(key);
            run.start("long gone".into()).await.unwrap();
            for number in 1..=count {
                run.send(Number(number)).await.unwrap();
            }
        }
        world.restart().await;
        world.advance(d!("9d")).await;
        for (key, count) in [("a few", 150), ("very many", 1_100)] {
            let run = world.client().picky(key);
            assert_eq!(run.result().await.unwrap(), [] as [u32; 0], "{key}");
            let queued = run.status().await.unwrap().unwrap().queued;
            assert_eq!((queued[0].count, queued[0].expired), (0, count), "{key}");
        }
    }
}

/// V4
#[tokio::test]
async fn a_wait_with_a_deadline_that_finds_its_event_queued_sets_no_alarm() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (run, waits) = (world.client().impatient("a"), world.client().impatient("b"));
        assert!(run.start_with(Number(1)).await.unwrap().taken);
        assert_eq!(world.view("impatient", "a").await.unwrap().unwrap().meta.alarm, None);
        waits.start().await.unwrap();
        assert!(world.view("impatient", "b").await.unwrap().unwrap().meta.alarm.is_some(), "there it waits");
    }
}

/// V4
#[tokio::test]
async fn buffering_alone_wakes_nobody() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().taker("a");
    run.start(1, true).await.unwrap();
    let before = run.status().await.unwrap().unwrap();
    run.send(Number(1)).await.unwrap();
    let after = run.status().await.unwrap().unwrap();
    assert_eq!((before.entries, before.waits_for), (after.entries, after.waits_for));
}

/// V4, W8
#[tokio::test]
async fn an_event_that_nobody_waits_for_does_not_bring_a_run_back_to_memory() {
    for setup in both() {
        let setup = setup.services(Fakes::default()).options(|options| options.evict_after = d!("5s"));
        let world = setup.start::<App>().await;
        let run = world.client().finder("a");
        let shelf = "so long that the journal is more than a short start: ".repeat(10);
        run.start(shelf.clone()).await.unwrap();
        world.advance(d!("7s")).await;
        assert!(world.kernel().counts().left > 0, "it is gone from memory");
        run.status().await.unwrap();
        let before = world.counts();
        for number in 1..=3 {
            assert!(!run.send(Parcel { shelf: "b".into(), number }).await.unwrap().taken);
        }
        let cost = world.counts().since(before);
        assert_eq!((cost.commits, cost.reads), (3, 0), "its record is there, and its journal is not needed");
        assert!(run.send(Parcel { shelf, number: 7 }).await.unwrap().taken);
        assert!(world.counts().since(before).reads > 0, "now it is");
        assert_eq!(run.result().await.unwrap(), 7);
    }
}

/// V5
#[tokio::test]
async fn an_event_that_is_waited_for_is_taken_in_the_commit_that_stores_it() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().taker("a");
        run.start(2, false).await.unwrap();
        let before = world.counts();
        assert!(run.send(Number(7)).await.unwrap().taken);
        assert_eq!(world.counts().since(before).commits, 1);
        assert_eq!(run.state().await.unwrap().unwrap().taken, [7]);
        world.restart().await;
        assert!(run.events().await.unwrap().is_empty(), "a consumed event does not return");
        run.send(Number(8)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [7, 8]);
    }
}

/// V6, fC1
#[tokio::test]
async fn a_wait_that_timed_out_leaves_the_next_event_to_the_next_wait() {
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

/// V6, H2
#[tokio::test]
async fn an_event_that_came_after_the_deadline_is_for_the_next_wait_whenever_both_are_looked_at() {
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

/// V8, V6
#[tokio::test]
async fn a_key_a_count_and_a_deadline_hold_together() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("key in time".into()).await.unwrap();
        world.advance(d!("1m")).await;
        for amount in [20, 21] {
            run.send(Paid { order: "order-2".into(), amount }).await.unwrap();
        }
        world.restart().await;
        world.advance(d!("59s")).await;
        assert_eq!(run.try_result().await.unwrap(), None, "others are not what it waits for");
        world.advance(d!("1s")).await;
        assert_eq!(run.result().await.unwrap(), [20, 21, 0]);
        let too_few = world.client().picky("b");
        too_few.start("key in time".into()).await.unwrap();
        world.advance(d!("1m")).await;
        for (order, amount) in [("order-1", 1), ("order-2", 2)] {
            too_few.send(Paid { order: order.into(), amount }).await.unwrap();
        }
        world.advance(d!("1m")).await;
        assert_eq!(too_few.result().await.unwrap(), [1]);
    }
}

/// V6, L7
#[tokio::test]
async fn a_deadline_wins_over_what_was_due_later_also_if_an_event_came_after_both() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("number or sleep".into()).await.unwrap();
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
async fn a_deadline_that_passes_while_the_commit_that_clears_it_is_on_its_way_changes_nothing() {
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

/// V7
#[tokio::test]
async fn unknown_and_ended_runs_take_no_events() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().taker("a");
        let refused =
            |sent: Result<_, CallError<SendError>>| sent.map(|_: workflow::Sent| ()).unwrap_err().failed().unwrap();
        assert_eq!(refused(run.send(Number(1)).await), SendError::NotFound);
        run.start(1, false).await.unwrap();
        run.terminate().await.unwrap();
        let terminated = SendError::Terminated { status: "terminated".into() };
        assert_eq!(refused(run.send(Number(1)).await), terminated);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
    }
}

/// V3
#[tokio::test]
async fn what_is_not_such_an_event_is_refused_and_nothing_is_stored() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().taker("a");
    run.start(1, false).await.unwrap();
    let wrong = world.call("taker", "a", "send", json!(["Number", "seven"])).await.unwrap_err();
    assert!(
        wrong.to_string().contains("not an event `Number`") || format!("{wrong:?}").contains("malformed"),
        "{wrong:?}"
    );
    let unknown = world.call("taker", "a", "send", json!(["Shipped", 1])).await.unwrap_err();
    assert!(format!("{unknown:?}").contains("not_accepted"), "{unknown:?}");
    assert!(run.events().await.unwrap().is_empty());
    run.send(Number(7)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [7]);
}

/// V2
#[tokio::test]
async fn a_slot_keeps_the_latest_or_the_first_and_counts_the_others() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("slots".into()).await.unwrap();
        for number in 1..=3 {
            run.send(Price(number)).await.unwrap();
            run.send(Bid(number)).await.unwrap();
        }
        let queued = run.status().await.unwrap().unwrap().queued;
        let counts: Vec<_> = queued.iter().map(|of| (of.event.as_str(), of.count, of.overwritten)).collect();
        assert_eq!(counts, [("Bid", 1, 2), ("Price", 1, 2)]);
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [3, 1]);
    }
}

/// V8
#[tokio::test]
async fn a_wait_with_a_key_takes_the_oldest_of_that_key_and_leaves_the_others() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("key".into()).await.unwrap();
        for (order, amount) in [("order-1", 1), ("order-2", 2), ("order-2", 3)] {
            run.send(Paid { order: order.into(), amount }).await.unwrap();
        }
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [2, 1]);
    }
}

/// V8
#[tokio::test]
async fn a_wait_with_a_key_of_several_fields_takes_what_has_all_of_them() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("two fields".into()).await.unwrap();
        for (aisle, shelf, number) in [("a/1", 1, 1), ("a", 2, 2), ("a/1", 2, 3), ("a/1", 2, 4)] {
            run.send(Stocked { number, shelf, aisle: aisle.into() }).await.unwrap();
        }
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(run.result().await.unwrap(), [3, 1]);
    }
}

/// V8
#[tokio::test]
async fn several_events_any_of_them_and_all_of_them() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let three = world.client().picky("three");
        three.start("three".into()).await.unwrap();
        for number in 1..=3 {
            three.send(Number(number)).await.unwrap();
        }
        let too_few = world.client().picky("too few");
        too_few.start("three".into()).await.unwrap();
        too_few.send(Number(1)).await.unwrap();
        let (any, all) = (world.client().picky("any"), world.client().picky("all"));
        any.start("any".into()).await.unwrap();
        any.send(Price(4)).await.unwrap();
        all.start("all".into()).await.unwrap();
        world.advance(d!("1m")).await;
        all.send(Price(5)).await.unwrap();
        all.send(Number(6)).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(three.result().await.unwrap(), [1, 2, 3]);
        assert_eq!(too_few.result().await.unwrap(), [1], "what a wait did not get whole stays queued");
        assert_eq!(any.result().await.unwrap(), [4]);
        assert_eq!(all.result().await.unwrap(), [6, 5]);
    }
}

/// V9
#[tokio::test]
async fn queues_are_capped_and_what_nobody_takes_expires() {
    for setup in both() {
        let (world, _) = started(setup).await;
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

/// V9, W11, D1
#[tokio::test]
async fn events_that_are_too_long_together_end_the_run_and_are_dead_letters() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("two essays".into()).await.unwrap();
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

/// V9, K3
#[tokio::test]
async fn an_event_is_refused_that_is_longer_than_can_be_kept_whatever_becomes_of_it() {
    let limit = (1 << 20) - (16 << 10);
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().picky("a");
        run.start("two essays".into()).await.unwrap();
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
async fn an_event_that_is_sent_twice_with_one_idempotency_key_is_one() {
    for setup in both() {
        let (world, _) = started(setup).await;
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
async fn an_event_that_was_refused_is_taken_when_it_is_sent_again_with_its_idempotency_key() {
    for setup in both() {
        let (world, _) = started(setup).await;
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

/// V10
#[tokio::test]
async fn nothing_of_one_key_reaches_another() {
    let keys = ["a", "a:b", "a/event/Number", "a#1", "b:a", "'; DROP TABLE row; --", "\u{0}a", "ä{b}*"];
    for setup in both() {
        let (world, _) = started(setup).await;
        let taker = |key: &&str| world.client().taker(key);
        for key in &keys {
            taker(key).start(1, true).await.unwrap();
        }
        for (index, key) in keys.iter().enumerate() {
            assert!(!taker(key).send(Number(index as u32)).await.unwrap().taken, "it sleeps");
        }
        world.restart().await;
        for (index, key) in keys.iter().enumerate() {
            let queued = taker(key).events().await.unwrap();
            assert_eq!(queued.iter().map(|event| &event.body).collect::<Vec<_>>(), [&json!(index)], "{key:?}");
        }
        world.advance(d!("10m")).await;
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(taker(key).result().await.unwrap(), [index as u32], "{key:?}");
        }
    }
}

/// V10
#[tokio::test]
async fn nothing_of_one_type_reaches_another_whatever_they_are_called() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().odd("a");
        run.start().await.unwrap();
        run.send(Crab(6)).await.unwrap();
        run.send(Operation(5)).await.unwrap();
        run.send(Ended(4)).await.unwrap();
        run.send(Lane(3)).await.unwrap();
        run.send(Shorter(2)).await.unwrap();
        run.send(Number(1)).await.unwrap();
        world.restart().await;
        let queued = run.events().await.unwrap();
        assert_eq!(
            queued.iter().map(|event| &event.body).collect::<Vec<_>>(),
            [6, 5, 4, 3, 2, 1].map(|of| json!(of)).iter().collect::<Vec<_>>()
        );
        assert_eq!(queued[3].event, "event/Number");
        world.advance(d!("10m")).await;
        assert_eq!(run.result().await.unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}

/// V2, V8
#[tokio::test]
async fn whatever_characters_are_in_an_event_come_through() {
    let odd = "a\0b\u{1f980}\u{feff}\"\\\u{7f}";
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().finder("a");
        run.start(odd.into()).await.unwrap();
        run.send(Parcel { shelf: "a".into(), number: 1 }).await.unwrap();
        run.send(Parcel { shelf: format!("{odd}\0"), number: 2 }).await.unwrap();
        world.restart().await;
        let queued = run.events().await.unwrap();
        assert_eq!(queued[1].body, json!({ "shelf": format!("{odd}\0"), "number": 2 }));
        assert!(run.send(Parcel { shelf: odd.into(), number: 3 }).await.unwrap().taken);
        assert_eq!(run.result().await.unwrap(), 3);
    }
}

/// V9
#[tokio::test]
async fn ten_thousand_are_queued_and_the_next_is_refused() {
    let (world, _) = started(World::memory()).await;
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

/// V11
#[tokio::test]
async fn a_run_and_its_first_event_are_one_commit() {
    for setup in both() {
        let (world, _) = started(setup).await;
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

/// V11, L2, fC20
#[tokio::test]
async fn two_who_send_or_start_at_once_start_one_run_that_has_both_events() {
    for setup in both() {
        let (world, _) = started(setup).await;
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

/// V5, fA2
#[tokio::test]
async fn a_crash_at_any_commit_loses_no_event_and_takes_none_twice() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let (world, _) = started(World::sqlite()).await;
            let run = world.client().taker("a");
            world.crash_at_commit(n, moment);
            let mut told = 0;
            while told < 5 {
                let sent = if told == 0 {
                    run.start(4, false).idempotency_key("start").await.is_ok()
                } else {
                    run.send(Number(told)).idempotency_key(told.to_string()).await.is_ok()
                };
                if sent {
                    told += 1;
                } else {
                    world.restart().await;
                }
            }
            assert_eq!(run.result().await.unwrap(), [1, 2, 3, 4], "death {moment:?} commit {n}");
        }
    }
}

/// W8
#[tokio::test]
async fn a_run_that_is_idle_leaves_memory_and_is_replayed_when_something_happens() {
    let setup = World::memory().services(Fakes::default()).options(|options| options.evict_after = d!("5s"));
    let world = setup.start::<App>().await;
    let run = world.client().taker("a");
    run.start(3, false).await.unwrap();
    let before = world.counts();
    run.send(Number(1)).await.unwrap();
    assert_eq!(world.counts().since(before).reads, 0, "a live run goes on without a replay");
    world.advance(d!("7s")).await;
    assert!(world.kernel().counts().left > 0, "it is gone from memory");
    let before = world.counts();
    run.send(Number(2)).await.unwrap();
    assert!(world.counts().since(before).reads > 0, "its journal was read");
    run.send(Number(3)).await.unwrap();
    assert_eq!(run.result().await.unwrap(), [1, 2, 3]);
}
