//! Limits, long values, strange names and missing things: each is a fault or a stop with a message, and no
//! run is lost (W7, W11, E10, K3).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    cell::RefCell,
    future::poll_fn,
    task::{Poll, Waker},
};

use drystone::{
    CallError, Error, Event, Failure, Fault, Flow, Primitives, RunError, Services, Timestamp, assume_durable, d,
    join_all,
    testing::{Latch, Log, Setup, World},
    workflow,
    workflow::{Cause, RunPhase, Stopped},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(String);

/// Makes as many things as its input says, of the kind that it says.
#[derive(Default, Serialize, Deserialize)]
struct Hoarder {
    text: String,
}

#[workflow(events(Note))]
impl Hoarder {
    async fn run(flow: &Flow<Self>, what: String, count: usize) -> Result<usize, Failure> {
        match what.as_str() {
            "entries" => {
                for _ in 0..count {
                    flow.sleep_until(Timestamp::from_millis(0)).await;
                }
                Ok(count)
            }
            "outputs" => {
                for _ in 0..count {
                    flow.long(1_000_000).await?;
                }
                Ok(count)
            }
            "sleeps" => Ok(join_all((0..count).map(|_| flow.sleep("1h"))).await.len()),
            // The number stays the same: a sleep that ends is followed by another.
            "rounds" => {
                let round = |_| async {
                    for _ in 0..3 {
                        flow.sleep("1h").await;
                    }
                };
                Ok(join_all((0..count).map(round)).await.len())
            }
            "output" => Ok(flow.long(count).await?.len()),
            "error" => Ok(flow.long_error(count).await?),
            "input" => {
                flow.sleep("1h").await;
                Ok(flow.measure("x".repeat(count)).await)
            }
            "inputs" => {
                let measured = join_all((0..5).map(|_| flow.measure("x".repeat(count * 2 / 5)))).await;
                Ok(measured.into_iter().sum())
            }
            // Each has two hundred bytes.
            "texts" => {
                let measured = join_all((0..count).map(|number| flow.measure(format!("{number:0>200}")))).await;
                Ok(measured.into_iter().sum())
            }
            "held texts" => {
                let measured = join_all((0..count).map(|number| flow.held(format!("{number:0>200}")))).await;
                Ok(measured.into_iter().sum())
            }
            "state" => {
                flow.sleep("1h").await;
                flow.update(|hoarder| hoarder.text = "x".repeat(count));
                flow.sleep("1h").await;
                Ok(flow.look(|hoarder| hoarder.text.len()))
            }
            // The run continues in the same turn and gets another entry before its state is checked.
            "state, and on" => {
                flow.sleep("1h").await;
                flow.update(|hoarder| hoarder.text = "x".repeat(count));
                flow.sleep_until(Timestamp::from_millis(1)).await;
                flow.sleep("1h").await;
                Ok(flow.look(|hoarder| hoarder.text.len()))
            }
            "result" => Err("x".repeat(count).into()),
            _ => Ok(flow.wait_for::<Note>().await.0.len()),
        }
    }

    #[step]
    async fn long(bytes: usize) -> Result<String, Failure> {
        Ok("x".repeat(bytes))
    }

    #[step(max_attempts = 1)]
    async fn long_error(bytes: usize) -> Result<usize, Failure> {
        Err("x".repeat(bytes).into())
    }

    #[step]
    async fn measure(text: String) -> usize {
        text.len()
    }

    #[step]
    async fn held(text: String, latch: &Latch) -> usize {
        latch.clone().wait().await;
        text.len()
    }
}

/// Names that look like our own, and worse names.
const HOSTILE: [&str; 12] = [
    "",
    "a",
    "a#1",
    "a#1#1",
    "run:a",
    "1.0/run:a",
    "!/tidy#1",
    "sleep",
    "look:1",
    "query:at/1",
    "\0\u{202e}\r\n",
    "'; DROP TABLE row; -- 🜁",
];

/// Runs code under any name, one after another and then all at once.
#[derive(Default, Serialize, Deserialize)]
struct Namer;

#[workflow]
impl Namer {
    async fn run(flow: &Flow<Self>, long: usize) -> Vec<String> {
        let mut said = Vec::new();
        for (index, name) in HOSTILE.iter().enumerate() {
            said.push(flow.run(name, async move { index.to_string() }).await);
        }
        flow.sleep("1h").await;
        said.extend(join_all(HOSTILE.iter().map(|name| flow.run(name, async { (*name).to_owned() }))).await);
        let name = "n".repeat(long);
        said.push(flow.run(&name, async { "long".to_owned() }).await);
        said
    }
}

/// An event with a key.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = of)]
struct Paid {
    of: String,
    cents: u32,
}

/// Waits for the payment of a single customer first, then for the payments of all remaining customers.
#[derive(Default, Serialize, Deserialize)]
struct Cashier;

#[workflow(events(Paid))]
impl Cashier {
    async fn run(flow: &Flow<Self>, of: String, others: u32) -> (u32, u32) {
        let paid = flow.wait_for::<Paid>().key(of).await.cents;
        let others = flow.wait_for::<Paid>().times(others).await;
        (paid, others.into_iter().map(|other| other.cents).sum())
    }
}

/// Awaits futures that are not durable, in ways that no macro sees.
#[derive(Default, Serialize, Deserialize)]
struct Cheat {
    times: u32,
}

#[workflow]
impl Cheat {
    async fn run(flow: &Flow<Self>, how: String) {
        match how.as_str() {
            "for ever" => assume_durable(std::future::pending::<()>()).await,
            "never rests" => assume_durable(tokio::task::yield_now()).await,
            "woken by another" => select! {
                () = flow.sleep("1h") => {}
                () = assume_durable(bell()) => {}
            },
            "step in code" => {
                let inside = flow.clone();
                flow.run("code", async move { inside.peek().await }).await;
            }
            "step for code" => {
                let step = flow.peek();
                flow.run("code", step).await;
            }
            "state in code" => {
                let inside = flow.clone();
                flow.run("code", async move { inside.update(|cheat| cheat.times += 1) }).await;
            }
            "looked at when it is dropped" => {
                let _drop = Looks(flow.clone());
                flow.sleep("1h").await;
            }
            _ => flow.sleep("1h").await,
        }
    }

    #[step]
    async fn peek() {}
}

/// Reads its run's state when the body drops it.
struct Looks(Flow<Cheat>);

impl Drop for Looks {
    fn drop(&mut self) {
        self.0.look(|cheat| assert_eq!(cheat.times, 0));
    }
}

thread_local! {
    /// The tasks that wait for the bell, in this test.
    static AT_THE_BELL: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// A future that is not durable: a waker is woken by hand.
fn bell() -> impl Future<Output = ()> {
    poll_fn(|context| {
        AT_THE_BELL.with_borrow_mut(|wakers| wakers.push(context.waker().clone()));
        Poll::Pending
    })
}

#[derive(Primitives)]
struct App {
    hoarder: Hoarder,
    namer: Namer,
    cheat: Cheat,
    cashier: Cashier,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn fault_of<T: std::fmt::Debug>(result: Result<T, CallError<RunError<Failure>>>) -> Fault {
    match result {
        Err(CallError::Failed(RunError::Fault(fault))) => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

/// W11
#[tokio::test]
async fn a_journal_that_grows_too_long_ends_its_run_with_a_fault_and_is_warned_of_before() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().hoarder("a");
    run.start("entries".into(), 60_000).await.unwrap();
    world.advance(d!("1m")).await;
    let fault = fault_of(run.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "journal entries".into(), limit: 50_000 });
    assert_eq!(fault.to_string(), "`sleep#50000` goes beyond the limit of 50000 journal entries");
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.long", "workflow.failed"]);
}

/// W11
#[tokio::test]
async fn a_journal_with_too_many_bytes_ends_its_run_with_a_fault_and_is_warned_of_before() {
    let (world, _) = started(World::memory()).await;
    let (run, small) = (world.client().hoarder("a"), world.client().hoarder("small"));
    run.start("outputs".into(), 70).await.unwrap();
    let fault = fault_of(run.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "bytes in its journal".into(), limit: 64 << 20 });
    assert_eq!(fault.step, "long#69", "the one after that with which it was full");
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.long", "workflow.failed"]);
    small.start("outputs".into(), 2).await.unwrap();
    assert_eq!(small.result().await.unwrap(), 2);
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.succeeded"]);
}

/// W11
#[tokio::test]
async fn too_many_operations_at_once_end_their_run_with_a_fault_and_as_many_as_may_be_do_not() {
    let (world, _) = started(World::memory()).await;
    let (many, too_many) = (world.client().hoarder("many"), world.client().hoarder("too many"));
    many.start("sleeps".into(), 4_096).await.unwrap();
    too_many.start("sleeps".into(), 4_097).await.unwrap();
    let fault = fault_of(too_many.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "operations at once".into(), limit: 4_096 });
    assert!(too_many.status().await.unwrap().unwrap().waits_for.is_empty());
    world.restart().await;
    world.advance(d!("1h")).await;
    assert_eq!(many.result().await.unwrap(), 4_096);
}

/// W11
#[tokio::test]
async fn a_run_that_asks_for_nearly_too_much_at_once_is_warned_of_once() {
    let (world, _) = started(World::memory()).await;
    let (few, many, too_many) =
        (world.client().hoarder("few"), world.client().hoarder("many"), world.client().hoarder("too many"));
    few.start("sleeps".into(), 3_275).await.unwrap();
    assert_eq!(names(&world.events()), ["workflow.started"]);
    many.start("rounds".into(), 3_276).await.unwrap();
    let told = world.events();
    assert_eq!(names(&told), ["workflow.started", "workflow.wide"]);
    let (name, count) = told[1].lifecycle.fields.iter().next().unwrap();
    assert_eq!((name.as_str(), &count[..]), ("operations", &b"3276"[..]));
    world.advance(d!("1h")).await;
    world.restart().await;
    world.advance(d!("2h")).await;
    assert_eq!(many.result().await.unwrap(), 3_276);
    assert_eq!(names(&world.events()), ["workflow.succeeded"; 2], "it was told before");
    too_many.start("sleeps".into(), 4_097).await.unwrap();
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.failed"], "there is nothing to warn of any more");
}

/// W11, K3
#[tokio::test]
async fn what_is_too_large_to_be_recorded_is_a_fault_that_says_so() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for what in ["output", "error", "input", "inputs", "state", "state, and on", "result"] {
            let run = world.client().hoarder(what);
            run.start(what.into(), 2 << 20).await.unwrap();
            world.advance(d!("2h")).await;
            let fault = fault_of(run.result().await).to_string();
            assert!(fault.contains("bytes"), "{what}: {fault}");
            let small = world.client().hoarder(format!("small {what}"));
            small.start(what.into(), 100_000).await.unwrap();
            world.restart().await;
            world.advance(d!("2h")).await;
            assert!(small.status().await.unwrap().unwrap().phase.has_ended());
            assert!(matches!(small.try_result().await, Ok(_) | Err(CallError::Failed(RunError::Failed(_)))), "{what}");
        }
    }
}

/// W11
#[tokio::test]
async fn as_many_steps_as_may_be_can_have_inputs_that_are_too_long_for_a_record() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().hoarder("some");
        run.start("texts".into(), 300).await.unwrap();
        world.restart().await;
        world.settle().await;
        assert_eq!(run.result().await.unwrap(), 300 * 200, "each has its own, also after a crash");
    }
    let (world, _) = started(World::memory()).await;
    let run = world.client().hoarder("all");
    run.start("held texts".into(), 4_096).await.unwrap();
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Running);
    assert!(run.terminate().await.unwrap());
}

/// K3, V3
#[tokio::test]
async fn an_input_or_an_event_that_is_too_large_is_refused_and_nothing_is_stored() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().hoarder("a");
        let refused = fault(run.start("x".repeat(2 << 20), 0).await);
        assert!(matches!(refused, Error::TooLarge { .. }), "{refused:?}");
        assert_eq!(run.status().await.unwrap(), None);
        run.start("event".into(), 0).await.unwrap();
        assert!(matches!(fault(run.send(Note("x".repeat(2 << 20))).await), Error::TooLarge { .. }));
        assert!(run.events().await.unwrap().is_empty());
        run.send(Note("x".repeat(900_000))).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 900_000);
    }
}

/// W4, W1
#[tokio::test]
async fn code_of_the_bodys_own_may_have_any_name() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().namer("a");
        run.start(100_000).await.unwrap();
        world.restart().await;
        world.advance(d!("1h")).await;
        let mut expected: Vec<String> = (0..HOSTILE.len()).map(|index| index.to_string()).collect();
        expected.extend(HOSTILE.map(str::to_owned));
        expected.push("long".into());
        assert_eq!(run.result().await.unwrap(), expected);
        let history = run.history().await.unwrap();
        let mut operations: Vec<_> = history.operations().collect();
        operations.sort_unstable();
        operations.dedup();
        assert_eq!(operations.len(), 2 * HOSTILE.len() + 2, "each has an identity of its own");
    }
}

/// W7
#[tokio::test]
async fn a_body_that_awaits_what_is_not_durable_is_stopped_and_told_so() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for how in ["for ever", "never rests"] {
            let run = world.client().cheat(how);
            run.start(how.into()).await.unwrap();
            world.advance(d!("1m")).await;
            let status = run.status().await.unwrap().unwrap();
            assert_eq!(status.phase, RunPhase::Panicked);
            let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("it is stopped") };
            assert!(message.contains("not durable"), "{message}");
            assert!(run.terminate().await.unwrap());
        }
    }
}

/// W7
#[tokio::test]
async fn a_body_that_something_else_wakes_is_stopped_at_once_while_it_waits_for_something_durable() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().cheat("a");
        run.start("woken by another".into()).await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        AT_THE_BELL.take().into_iter().for_each(Waker::wake);
        world.settle().await;
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Panicked);
        let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("it is stopped") };
        assert!(message.contains("woken by something that is not durable"), "{message}");
        assert_eq!(names(&world.events()), ["workflow.started", "workflow.panicked"]);
    }
}

/// W7
#[tokio::test]
async fn code_beside_the_body_that_uses_its_flow_panics_and_says_so() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for how in ["step in code", "step for code", "state in code"] {
            let run = world.client().cheat(how);
            run.start(how.into()).await.unwrap();
            let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("{how}") };
            let Cause::Panicked { message, .. } = fault.cause else { panic!("{how}: {fault}") };
            assert!(message.contains("`flow` is the body's"), "{how}: {message}");
        }
    }
}

/// W7, E13
#[tokio::test]
async fn what_a_body_drops_when_it_leaves_memory_may_look_at_its_run() {
    for setup in both() {
        let (world, _) = started(setup.options(|options| options.evict_after = d!("5s"))).await;
        let run = world.client().cheat("a");
        run.start("looked at when it is dropped".into()).await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        world.advance(d!("1h")).await;
        run.result().await.unwrap();
    }
}

/// V2, V8
#[tokio::test]
async fn a_wait_finds_its_event_behind_many_others_and_leaves_them_in_order() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().cashier("a");
        run.start("anna".into(), 300).await.unwrap();
        for cents in 1..=300 {
            assert!(!run.send(Paid { of: "bob".into(), cents }).await.unwrap().taken);
            if cents == 150 {
                world.restart().await;
            }
        }
        world.restart().await;
        assert!(run.send(Paid { of: "anna".into(), cents: 7 }).await.unwrap().taken);
        assert_eq!(run.result().await.unwrap(), (7, 300 * 301 / 2));
        assert!(run.events().await.unwrap().is_empty());
    }
}

/// W8
#[tokio::test]
async fn a_run_that_nothing_uses_leaves_memory_and_its_next_move_replays_it() {
    for setup in both() {
        let (world, _) = started(setup.options(|options| options.evict_after = d!("5s"))).await;
        let run = world.client().hoarder("a");
        run.start("event".into(), 0).await.unwrap();
        world.advance(d!("3s")).await;
        let before = world.counts();
        assert!(run.status().await.unwrap().is_some());
        assert_eq!(world.counts().since(before).read_calls, 0, "it is in memory");
        world.advance(d!("20s")).await;
        let before = world.counts();
        run.send(Note("four".into())).await.unwrap();
        assert_eq!(world.counts().since(before).read_calls, 1, "its record, which has its start");
        assert_eq!(run.result().await.unwrap(), 4);
    }
}
