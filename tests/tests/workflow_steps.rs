//! Steps: executed at least once, recorded once, and retried by their policy (W1 to W5).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering},
};

use drystone::{
    CallError, Context, Event, Failure, Fault, Flow, Primitives, Retry, RunError, Services, d,
    testing::{Latch, Log, Moment, Setup, World},
    workflow,
    workflow::{Cause, RunPhase},
};
use drystone_tests::typed::both;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Declined(String);

/// Ten steps in a row.
#[derive(Default, Serialize, Deserialize)]
struct Counting {
    at: u32,
}

#[workflow]
impl Counting {
    async fn run(flow: &Flow<Self>, to: u32) -> u32 {
        let mut sum = 0;
        for number in 1..=to {
            sum += flow.add(number).await;
            flow.update(|counting| counting.at = number);
        }
        sum
    }

    #[step]
    async fn add(number: u32, log: &Log) -> u32 {
        log.say(format!("add {number}"));
        number
    }

    async fn at(&self) -> u32 {
        self.at
    }
}

/// A workflow with each kind of outcome.
#[derive(Default, Serialize, Deserialize)]
struct Outcomes;

#[workflow]
impl Outcomes {
    async fn run(flow: &Flow<Self>) -> Result<String, Declined> {
        let nothing: () = flow.nothing().await;
        let none = flow.none().await;
        let declined = flow.declined().await;
        flow.nothing().await;
        Ok(format!("{nothing:?} {none:?} {declined:?}"))
    }

    #[step]
    async fn nothing(log: &Log) {
        log.say("nothing");
    }

    #[step]
    async fn none(log: &Log) -> Option<u32> {
        log.say("none");
        None
    }

    #[step(max_attempts = 1)]
    async fn declined(log: &Log) -> Result<u32, Declined> {
        log.say("declined");
        Err(Declined("no money".into()))
    }
}

/// A step that fails as often as its input says.
#[derive(Default, Serialize, Deserialize)]
struct Stumbling;

#[workflow]
impl Stumbling {
    async fn run(flow: &Flow<Self>, times: u32) -> Result<u32, Declined> {
        flow.stumble(times).await
    }

    #[step(max_attempts = 3, backoff = "1s..10s", retry_if = Stumbling::is_temporary)]
    async fn stumble(times: u32, log: &Log, cx: &Context) -> Result<u32, Declined> {
        log.say(format!("{} {}", cx.attempt(), cx.work_id()));
        match times {
            99 => Err(Declined("for ever".into())),
            _ if cx.attempt() <= times => Err(Declined(format!("attempt {}", cx.attempt()))),
            _ => Ok(cx.attempt()),
        }
    }

    fn is_temporary(error: &Declined) -> bool {
        error.0 != "for ever"
    }
}

/// Delays that grow by a second each time.
const SLOWER: Retry = Retry::linear(d!("1s"));

/// Steps that always fail: one with the default retries, and one with delays from a constant.
#[derive(Default, Serialize, Deserialize)]
struct Hopeless;

#[workflow]
impl Hopeless {
    async fn run(flow: &Flow<Self>, slower: bool) -> Result<(), Declined> {
        if slower { flow.slower().await } else { flow.plain().await }
    }

    #[step]
    async fn plain(log: &Log) -> Result<(), Declined> {
        log.say("plain");
        Err(Declined("always".into()))
    }

    #[step(max_attempts = 4, backoff = SLOWER)]
    async fn slower(log: &Log) -> Result<(), Declined> {
        log.say("slower");
        Err(Declined("always".into()))
    }
}

/// A step that gives up after a time, even if attempts are left.
#[derive(Default, Serialize, Deserialize)]
struct Brief;

#[workflow]
impl Brief {
    async fn run(flow: &Flow<Self>, panics: bool) -> Result<(), Declined> {
        flow.strive(panics).await
    }

    #[step(max_attempts = 10, backoff = "1m", give_up_after = "150s")]
    async fn strive(panics: bool, log: &Log, cx: &Context) -> Result<(), Declined> {
        log.say(format!("attempt {}", cx.attempt()));
        assert!(!panics, "in every attempt");
        Err(Declined(format!("attempt {}", cx.attempt())))
    }
}

/// A step that a crash can interrupt.
#[derive(Default, Serialize, Deserialize)]
struct Charging;

#[workflow]
impl Charging {
    async fn run(flow: &Flow<Self>) -> String {
        flow.charge().await
    }

    #[step]
    async fn charge(log: &Log, latch: &Latch, cx: &Context) -> String {
        log.say(format!("{} {}", cx.attempt(), cx.work_id()));
        latch.clone().wait().await;
        cx.work_id()
    }
}

static OWN: LazyLock<Latch> = LazyLock::new(Latch::default);
static OWN_RUNS: AtomicU32 = AtomicU32::new(0);

/// Waits in code of `flow.run`.
#[derive(Default, Serialize, Deserialize)]
struct Own;

#[workflow]
impl Own {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.run("wait", async {
            OWN_RUNS.fetch_add(1, Ordering::Relaxed);
            OWN.clone().wait().await;
            OWN_RUNS.load(Ordering::Relaxed)
        })
        .await
    }
}

/// Returns the input, or fails with the input as the error.
#[derive(Default, Serialize, Deserialize)]
struct Echo {
    text: String,
}

#[workflow]
impl Echo {
    async fn run(flow: &Flow<Self>, text: String) -> Result<(String, Failure), Declined> {
        let (said, caught) = (flow.say(text.clone()).await, flow.fail(text.clone()).await);
        let failure = flow.fall(text.clone()).await.err().unwrap_or_else(|| "it should have failed".into());
        flow.update(|echo| echo.text = said.clone());
        match caught {
            Err(Declined(error)) if error == said => Ok((said, failure)),
            other => Err(Declined(format!("{other:?}"))),
        }
    }

    #[step]
    async fn say(text: String) -> String {
        text
    }

    #[step(max_attempts = 1)]
    async fn fail(text: String) -> Result<(), Declined> {
        Err(Declined(text))
    }

    #[step(max_attempts = 1)]
    async fn fall(text: String) -> Result<(), Failure> {
        Err(Failure::from(text))
    }
}

/// Faults that the body catches, and uncaught faults.
#[derive(Default, Serialize, Deserialize)]
struct Faulty;

#[workflow]
impl Faulty {
    async fn run(flow: &Flow<Self>, catches: bool) -> String {
        if catches {
            let panicked = flow.panics().catch().await;
            let hung = flow.hangs().catch().await;
            return format!("{} | {}", panicked.unwrap_err(), hung.unwrap_err());
        }
        flow.panics().await;
        "never".into()
    }

    #[step(max_attempts = 2, backoff = "1s")]
    async fn panics(log: &Log) {
        log.say("panics");
        panic!("oh no");
    }

    #[step(max_attempts = 2, backoff = "1s", timeout = "5s")]
    async fn hangs(latch: &Latch, log: &Log) {
        log.say("hangs");
        latch.clone().wait().await;
    }
}

static TRIES: AtomicU32 = AtomicU32::new(0);
static GREETED: AtomicU32 = AtomicU32::new(0);

fn greeted() -> u32 {
    GREETED.fetch_add(1, Ordering::Relaxed) + 1
}

/// Code in `flow.run`.
#[derive(Default, Serialize, Deserialize)]
struct Adhoc;

#[workflow]
impl Adhoc {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        let greeting = flow.run("greet", async move { format!("hello {name} {}", greeted()) }).await;
        flow.sleep("1h").await;
        let twice = greeting.clone();
        let twice = flow.run("greet", async move { format!("{twice}, {twice}, {}", greeted()) }).await;
        let said = flow.try_run("stumble", async move {
            if TRIES.fetch_add(1, Ordering::Relaxed) < 2 { Err(Failure::from("a lull")) } else { Ok(7_u32) }
        });
        let said = said.max_attempts(3).backoff("1s").within("1h").await;
        Ok(format!("{twice} {:?}", said.map_err(Failure::from)??))
    }
}

/// A value that loses a part of itself when it is stored and read.
#[derive(Clone, Debug, Event, Serialize, Deserialize)]
struct Lossy {
    kept: u32,
    #[serde(skip)]
    lost: u32,
}

impl Lossy {
    const WHOLE: Self = Self { kept: 1, lost: 1 };

    fn parts(&self) -> (u32, u32) {
        (self.kept, self.lost)
    }
}

/// Reports the visible parts of each value.
#[derive(Default, Serialize, Deserialize)]
struct Leaky;

#[workflow(events(Lossy))]
impl Leaky {
    async fn run(flow: &Flow<Self>, input: Lossy) -> Vec<(u32, u32)> {
        let own = flow.run("own", async { Lossy::WHOLE }).await;
        let ok = flow.pass(Lossy::WHOLE, true).await.unwrap_or(Lossy::WHOLE);
        let error = flow.pass(Lossy::WHOLE, false).await.err().unwrap_or(Lossy::WHOLE);
        let event = flow.wait_for::<Lossy>().await;
        [input, own, ok, error, event].iter().map(Lossy::parts).collect()
    }

    #[step(max_attempts = 1)]
    async fn pass(input: Lossy, is_ok: bool, log: &Log) -> Result<Lossy, Lossy> {
        log.say(format!("{:?}", input.parts()));
        if is_ok { Ok(Lossy::WHOLE) } else { Err(Lossy::WHOLE) }
    }
}

#[derive(Primitives)]
struct App {
    leaky: Leaky,
    counting: Counting,
    outcomes: Outcomes,
    stumbling: Stumbling,
    faulty: Faulty,
    adhoc: Adhoc,
    hopeless: Hopeless,
    brief: Brief,
    charging: Charging,
    echo: Echo,
    own: Own,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// W1
#[tokio::test]
async fn steps_run_in_order_and_their_results_are_the_runs() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().counting("a");
        run.start(3).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 6);
        assert_eq!(fakes.log.take(), ["add 1", "add 2", "add 3"]);
        assert_eq!(run.at().await.unwrap(), 3);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.entries), (RunPhase::Succeeded, 5));
        let history = run.history().await.unwrap();
        assert_eq!(history.operations().collect::<Vec<_>>(), ["add#1", "add#2", "add#3"]);
    }
}

/// W1
#[tokio::test]
async fn n_steps_are_n_and_one_commits() {
    let (world, _) = started(World::memory()).await;
    let before = world.counts();
    let run = world.client().counting("a");
    run.start(10).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 55);
    assert_eq!(world.counts().since(before).commits, 11);
}

/// W1
#[tokio::test]
async fn nothing_none_and_an_error_are_distinct_outcomes_also_after_a_replay() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=6 {
            let (world, fakes) = started(World::sqlite()).await;
            let run = world.client().outcomes("a");
            world.crash_at_commit(n, moment);
            let _ = run.start().idempotency_key("once").await;
            if world.is_dead() {
                world.restart().await;
            }
            let _ = run.start().idempotency_key("once").await;
            let result = run.result().await.unwrap();
            assert_eq!(result, r#"() None Err(Declined("no money"))"#, "death {moment:?} commit {n}");
            let said = fakes.log.take();
            assert!((4..=5).contains(&said.len()), "at most the step in flight is executed again: {said:?}");
        }
    }
}

/// W5
#[tokio::test]
async fn the_first_execution_sees_no_more_of_an_input_an_outcome_or_an_event_than_a_replay() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().leaky("a");
        run.start(Lossy::WHOLE).await.unwrap();
        run.send(Lossy::WHOLE).await.unwrap();
        assert_eq!(run.result().await.unwrap(), [(1, 0); 5]);
        assert_eq!(fakes.log.take(), ["(1, 0)"; 2]);
        drystone::testing::replay::<Leaky>(&run.history().await.unwrap()).unwrap();
    }
}

/// W3
#[tokio::test]
async fn a_step_is_tried_after_its_pauses_and_one_that_says_nothing_three_times_in_three_seconds() {
    for (slower, pauses) in [(false, &[d!("1s"), d!("2s")][..]), (true, &[d!("1s"), d!("2s"), d!("3s")])] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().hopeless("a");
            run.start(slower).await.unwrap();
            assert_eq!(fakes.log.take().len(), 1, "at once");
            for pause in pauses {
                world.advance(*pause - d!("1ms")).await;
                assert_eq!(fakes.log.take().len(), 0, "not before {pause:?}");
                world.advance(d!("1ms")).await;
                assert_eq!(fakes.log.take().len(), 1, "after {pause:?}");
            }
            assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed, "that was the last");
        }
    }
}

/// W3
#[tokio::test]
async fn a_failing_step_is_tried_again_with_pauses_under_one_work_id() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().stumbling("a");
        run.start(2).await.unwrap();
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Suspended);
        assert_eq!(status.waits_for[0].last_error.as_ref().unwrap().message(), r#""attempt 1""#);
        world.advance(d!("1s")).await;
        world.restart().await;
        world.advance(d!("2s")).await;
        assert_eq!(run.result().await.unwrap(), 3);
        let said = fakes.log.take();
        let ids: Vec<_> = said.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(said.len(), 3);
        assert!(ids.iter().all(|id| *id == ids[0] && id.ends_with("stumble#1")), "{ids:?}");
    }
}

/// W3
#[tokio::test]
async fn the_last_failure_is_the_steps_own_error() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().stumbling("a");
    run.start(7).await.unwrap();
    world.advance(d!("1m")).await;
    let Err(CallError::Failed(RunError::Failed(error))) = run.result().await else { panic!("it failed") };
    assert_eq!(error, Declined("attempt 3".into()));
}

/// W3
#[tokio::test]
async fn what_is_not_worth_a_retry_is_not_tried_again() {
    let (world, fakes) = started(World::memory()).await;
    let run = world.client().stumbling("a");
    run.start(99).await.unwrap();
    assert!(matches!(run.result().await, Err(CallError::Failed(RunError::Failed(Declined(_))))));
    assert_eq!(fakes.log.take().len(), 1);
}

/// W3: attempts begin at 0, 60 and 120 s. One at 180 s would come after the limit of 150 s.
#[tokio::test]
async fn a_step_gives_up_when_its_time_is_over_and_its_last_failure_is_its_error() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().brief("a");
        run.start(false).await.unwrap();
        world.advance(d!("1m")).await;
        world.restart().await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended, "that does not begin anew");
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["attempt 1", "attempt 2", "attempt 3"]);
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed, "at once: no other would begin");
        let Err(CallError::Failed(RunError::Failed(error))) = run.result().await else { panic!("it failed") };
        assert_eq!(error, Declined("attempt 3".into()));
        world.advance(d!("1h")).await;
        assert!(fakes.log.take().is_empty());
        let run = world.client().brief("b");
        run.start(true).await.unwrap();
        world.advance(d!("1h")).await;
        let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("it failed") };
        assert_eq!(fault.cause, Cause::Panicked { message: "in every attempt".into(), attempts: 3 });
    }
}

/// W1, E14, fA1: the outside sees the same work id, although no further attempt is counted.
#[tokio::test]
async fn a_step_that_was_cut_short_runs_again_under_the_same_work_id() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().charging("a");
        run.start().await.unwrap();
        // One crash while the step runs, one while its outcome is being written.
        world.crash().await;
        world.restart().await;
        world.settle().await;
        world.crash_at_commit(1, Moment::Before);
        fakes.latch.let_one_through();
        world.settle().await;
        // The first crash is counted in a commit of its own.
        while !world.is_dead() {
            fakes.latch.let_one_through();
            world.settle().await;
        }
        world.restart().await;
        world.settle().await;
        fakes.latch.open();
        let id = run.result().await.unwrap();
        let said = fakes.log.take();
        assert_eq!(said, vec![format!("1 {id}"); 3], "one attempt, one id");
        assert_eq!(run.history().await.unwrap().operations().collect::<Vec<_>>(), ["charge#1"]);
        let other = world.client().charging("b");
        other.start().await.unwrap();
        assert_ne!(other.result().await.unwrap(), id);
    }
}

/// W8, fC2: a run with a running step is not idle.
#[tokio::test]
async fn a_step_that_takes_longer_than_a_run_stays_in_memory_is_executed_once_and_its_end_is_taken() {
    for setup in both() {
        let (world, fakes) = started(setup.options(|options| options.evict_after = d!("5s"))).await;
        let (run, own) = (world.client().charging("a"), world.client().own("b"));
        run.start().await.unwrap();
        own.start().await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take().len(), 1);
        assert_eq!(own.status().await.unwrap().unwrap().phase, RunPhase::Running);
        fakes.latch.open();
        OWN.let_one_through();
        world.settle().await;
        assert!(run.result().await.unwrap().ends_with("charge#1"));
        assert_eq!(own.result().await.unwrap(), 1, "code of the body's own, too");
        world.advance(d!("1h")).await;
        assert!(fakes.log.take().is_empty());
        OWN_RUNS.store(0, Ordering::Relaxed);
    }
}

/// W1, fE1
#[tokio::test]
async fn characters_that_others_stumble_over_come_back_as_they_were() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (key, text) in [("nul", "a\0b"), ("\0key\0", "\0"), ("ends", "\u{feff}\u{2028}\u{10ffff}\r\n\0")] {
            let run = world.client().echo(key);
            run.start(text.into()).await.unwrap();
            world.restart().await;
            let (said, failure) = run.result().await.unwrap();
            assert_eq!((said.as_str(), failure.message()), (text, text), "{key:?}");
            assert_eq!(run.state().await.unwrap().unwrap().text, text);
            drystone::testing::replay::<Echo>(&run.history().await.unwrap()).unwrap();
        }
    }
}

/// W3
#[tokio::test]
async fn a_fault_fails_the_run_unless_it_is_caught() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().faulty("a");
        run.start(false).await.unwrap();
        world.advance(d!("1m")).await;
        let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("it failed") };
        let cause = Cause::Panicked { message: "oh no".into(), attempts: 2 };
        assert_eq!(fault, Fault { step: "panics#1".into(), cause });
        let caught = world.client().faulty("b");
        caught.start(true).await.unwrap();
        world.advance(d!("1m")).await;
        let text = caught.result().await.unwrap();
        assert!(text.contains("oh no") && text.contains("longer than its timeout"), "{text}");
        assert_eq!(
            fakes.log.take(),
            ["panics", "panics", "panics", "panics", "hangs", "hangs"],
            "each attempt has its own time"
        );
    }
}

/// W1
#[tokio::test]
async fn code_of_the_bodys_own_is_a_step_and_is_not_run_again() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().adhoc("a");
        GREETED.store(0, Ordering::Relaxed);
        TRIES.store(0, Ordering::Relaxed);
        run.start("ada".into()).await.unwrap();
        world.restart().await;
        world.advance(d!("1h")).await;
        world.advance(d!("10s")).await;
        assert_eq!(run.result().await.unwrap(), "hello ada 1, hello ada 1, 2 7");
        assert_eq!(GREETED.load(Ordering::Relaxed), 2, "each is executed once, over a death and four replays");
        assert_eq!(TRIES.load(Ordering::Relaxed), 3, "it failed twice, and was made anew each time");
        let history = run.history().await.unwrap();
        let operations: Vec<_> = history.operations().collect();
        assert_eq!(operations, ["run:greet#1", "sleep#1", "run:greet#2", "run:stumble#1"]);
    }
}

/// W1
#[tokio::test]
async fn a_step_is_a_plain_function_elsewhere() {
    assert_eq!(Counting::add(4, &Log::default()).await, 4);
}
