//! The life of a run: it begins once, ends once, and never comes back to life (L1 to L3, L9, D1).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    CallError, Context, Error, Event, Failure, Flow, Never, Primitives, RunError, Services, d,
    dead_letters::{Filter, Payload, What},
    testing::{Fault, Latch, Log, Setup, World},
    workflow,
    workflow::{RunPhase, StartError, Started},
};
use drystone_tests::typed::{at_once, both, fault, names};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Note(u32);

#[derive(Debug, Event, Serialize, Deserialize)]
#[event(on_terminated = "discard")]
struct Hint(u32);

/// A job that can be cancelled at every point and cleans up.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Job {
    at: String,
}

#[workflow(events(Note, Hint), retention = "1d")]
impl Job {
    async fn run(flow: &Flow<Self>, name: String) -> Result<String, Failure> {
        flow.update(|job| job.at = "working".into());
        let done = flow.work(name).await?;
        flow.update(|job| job.at = "waiting".into());
        let Note(number) = flow.wait_for::<Note>().await;
        Ok(format!("{done} {number}"))
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        let at = flow.look(|job| job.at.clone());
        flow.tidy(format!("was {at}")).await?;
        flow.sleep("1m").await;
        flow.tidy("done".into()).await?;
        flow.update(|job| job.at = "clean".into());
        Ok(())
    }

    #[step(max_attempts = 1)]
    async fn work(name: String, latch: &Latch, log: &Log) -> Result<String, Failure> {
        log.say(format!("work {name}"));
        if name == "fails" {
            return Err("it failed".into());
        }
        if name == "slow" {
            latch.clone().wait().await;
        }
        Ok(name)
    }

    #[step]
    async fn tidy(what: String, log: &Log) -> Result<(), Failure> {
        log.say(what);
        Ok(())
    }

    /// A query: where the job is.
    async fn at(&self) -> String {
        self.at.clone()
    }

    /// A query that emits an event, which is dropped.
    async fn shout(&self, cx: &Context) {
        cx.emit("job.shouted", &self.at);
    }
}

/// A workflow without a cleanup.
#[derive(Default, Serialize, Deserialize)]
struct Plain;

#[workflow]
impl Plain {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1h").await;
    }
}

/// A workflow that ends at once.
#[derive(Default, Serialize, Deserialize)]
struct Quick;

#[workflow]
impl Quick {
    async fn run(_flow: &Flow<Self>) -> u32 {
        1
    }
}

/// A workflow whose state and result are as long as the input says.
#[derive(Default, Serialize, Deserialize)]
struct Long {
    text: String,
}

#[workflow]
impl Long {
    async fn run(flow: &Flow<Self>, sleeps: bool, state: usize, result: usize) -> String {
        flow.update(|long| long.text = "s".repeat(state));
        if sleeps {
            flow.sleep("1h").await;
            flow.update(|long| long.text = long.text.repeat(2));
        }
        "r".repeat(result)
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) {
        flow.update(|long| long.text.push_str(&"s".repeat(1 << 10)));
    }
}

/// The longest possible result or state.
const BYTES_MAX: usize = (1 << 20) - 4_096;

/// The number of ends in the journal of a run.
async fn ends(run: &workflow::Verbs<Long>) -> usize {
    run.history().await.unwrap().to_json().unwrap().matches("\"what\":{\"ended\":").count()
}

/// A workflow whose cleanup fails.
#[derive(Default, Serialize, Deserialize)]
struct Messy;

#[workflow]
impl Messy {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1h").await;
    }

    #[cancelled]
    async fn cleanup(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.stumble().await;
        Ok(())
    }

    #[step(max_attempts = 1)]
    async fn stumble(log: &Log) {
        log.say("stumbles");
        panic!("over it");
    }
}

#[derive(Primitives)]
struct App {
    long: Long,
    messy: Messy,
    job: Job,
    plain: Plain,
    quick: Quick,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn failed<T: std::fmt::Debug>(result: Result<T, CallError<RunError<Failure>>>) -> RunError<Failure> {
    result.unwrap_err().failed().unwrap()
}

/// L1, L2
#[tokio::test]
async fn a_run_begins_once_and_ends_once() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().job("a");
        assert_eq!(run.status().await.unwrap(), None);
        run.start("quick".into()).await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        assert_eq!(run.try_result().await.unwrap(), None);
        run.send(Note(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "quick 1");
        let told = world.events();
        assert_eq!(names(&told), ["workflow.started", "workflow.succeeded"]);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Succeeded, 0));
        world.restart().await;
        assert_eq!(run.result().await.unwrap(), "quick 1");
        assert_eq!(run.try_result().await.unwrap().unwrap(), "quick 1");
    }
}

/// L1, E15
#[tokio::test]
async fn a_run_that_ends_at_once_is_told_to_have_begun_before() {
    let (world, _) = started(World::memory()).await;
    world.client().quick("a").start().await.unwrap();
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.succeeded"]);
}

/// L1
#[tokio::test]
async fn an_error_of_the_body_is_the_runs() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("fails".into()).await.unwrap();
    let RunError::Failed(failure) = failed(run.result().await) else { panic!("its own error") };
    assert_eq!(failure.message(), "it failed");
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Failed);
}

/// L2, fC8
#[tokio::test]
async fn a_key_that_has_a_run_takes_no_other() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("one".into()).await.unwrap();
        let refused = run.start("two".into()).await.unwrap_err().failed().unwrap();
        assert_eq!(refused, StartError::AlreadyExists { status: "suspended".into() });
        assert_eq!(run.start_or_get("one".into()).await.unwrap(), Started::Found);
        assert!(run.start_or_get("two".into()).await.is_err());
        assert_eq!(world.client().job("b").start_or_get("one".into()).await.unwrap(), Started::Started);
        let key = world.client().job("new-").start_new("three".into()).await.unwrap();
        assert!(key.starts_with("new-") && key.len() > 20);
        assert_eq!(world.client().job(&key).status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        run.send(Note(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "one 1");
        assert!(run.start("again".into()).await.is_err(), "also when it has ended");
        assert_eq!(fakes.log.take(), ["work one", "work one", "work three"]);
    }
}

/// L2, fC8
#[tokio::test]
async fn of_many_starts_of_one_key_that_race_one_begins_the_run() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let start = |number: u32| world.client().job("a").start(format!("start {number}")).into_future();
        let answers = at_once((0..16).map(start)).await;
        let (begun, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((begun.len(), refused.len()), (1, 15));
        for answer in refused {
            let error = answer.unwrap_err().failed().unwrap();
            assert!(matches!(error, StartError::AlreadyExists { .. }), "{error}");
        }
        world.settle().await;
        let worked = fakes.log.take();
        assert_eq!(worked.len(), 1, "{worked:?}");
        let run = world.client().job("a");
        run.send(Note(1)).await.unwrap();
        let result = run.result().await.unwrap();
        assert_eq!(format!("work {result}"), format!("{} 1", worked[0]), "that of the one that began");
        assert_eq!(run.history().await.unwrap().operations().count(), 2);
    }
}

/// L2, fC8
#[tokio::test]
async fn of_many_starts_under_one_idempotency_key_that_race_all_have_the_same_answer() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let start = || world.client().job("a").start("one".into()).idempotency_key("same").into_future();
        let answers = at_once((0..16).map(|_| start())).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        let run = world.client().job("a");
        run.send(Note(1)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "one 1");
        start().await.unwrap();
        assert_eq!(fakes.log.take(), ["work one"], "also when it has ended");
    }
}

/// L3
#[tokio::test]
async fn a_cancelled_run_ends_its_steps_then_cleans_up_then_is_cancelled() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert!(!run.cancel().await.unwrap(), "true once");
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Cancelling);
        assert_eq!(fakes.log.take(), ["work slow"]);
        fakes.latch.open();
        world.settle().await;
        assert_eq!(fakes.log.take(), ["was working"], "the body was dropped where it was");
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["done"]);
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert_eq!(run.at().await.unwrap(), "clean");
        assert!(!run.cancel().await.unwrap());
        let history = run.history().await.unwrap();
        assert_eq!(history.operations().collect::<Vec<_>>(), ["work#1", "!/tidy#1", "!/sleep#1", "!/tidy#2"]);
    }
}

/// L3
#[tokio::test]
async fn a_cancelled_run_that_abandons_its_steps_does_not_wait_for_them() {
    for (setup, was_asked_before) in both().zip([true, true]).chain(both().zip([false, false])) {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert_eq!(fakes.log.take(), ["work slow"]);
        if was_asked_before {
            assert!(run.cancel().await.unwrap());
            world.restart().await;
            assert_eq!(fakes.log.take(), ["work slow"], "it waits for its step, which runs again");
        }
        assert!(run.cancel_abandoning_steps().await.unwrap());
        assert!(!run.cancel_abandoning_steps().await.unwrap() && !run.cancel().await.unwrap(), "true once");
        assert_eq!(fakes.log.take(), ["was working"], "the step was dropped, and its run cleans up");
        fakes.latch.open();
        world.settle().await;
        world.restart().await;
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["done"]);
        assert_eq!(failed(run.result().await), RunError::Cancelled);
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "it has ended");
        let history = run.history().await.unwrap();
        let operations: Vec<_> = history.operations().collect();
        assert_eq!(operations, ["!/tidy#1", "!/sleep#1", "!/tidy#2"], "nothing is known of the step");
        drystone::testing::replay::<Job>(&history).unwrap();
    }
}

/// L3
#[tokio::test]
async fn what_a_cancelled_run_does_on_its_way_out_is_not_abandoned() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "there is none");
        run.start("quick".into()).await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert!(!run.cancel_abandoning_steps().await.unwrap(), "its `#[cancelled]` body sleeps");
        world.advance(d!("1m")).await;
        assert_eq!(fakes.log.take(), ["work quick", "was waiting", "done"]);
        assert_eq!(run.at().await.unwrap(), "clean");
    }
}

/// L3
#[tokio::test]
async fn a_cancelled_run_is_cancelled_also_if_its_cleanup_ends_in_a_fault() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().messy("a");
        run.start().await.unwrap();
        assert!(run.cancel().await.unwrap());
        assert_eq!(run.result().await.unwrap_err().failed().unwrap(), RunError::<Never>::Cancelled);
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Cancelled);
        assert!(status.cleanup_error.unwrap().contains("over it"));
        drystone::testing::replay::<Messy>(&run.history().await.unwrap()).unwrap();
    }
}

/// L3
#[tokio::test]
async fn a_run_that_is_not_in_memory_is_cancelled_and_terminated() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for key in ["a", "b"] {
            world.client().plain(key).start().await.unwrap();
        }
        world.restart().await;
        assert!(world.client().plain("a").cancel().await.unwrap());
        assert!(world.client().plain("b").terminate().await.unwrap());
        let ended = |key: &'static str| world.client().plain(key).result();
        assert_eq!(ended("a").await.unwrap_err().failed().unwrap(), RunError::<Never>::Cancelled);
        assert_eq!(ended("b").await.unwrap_err().failed().unwrap(), RunError::<Never>::Terminated);
        world.advance(d!("2h")).await;
        assert_eq!(world.client().plain("a").status().await.unwrap().unwrap().phase, RunPhase::Cancelled);
    }
}

/// L3
#[tokio::test]
async fn a_terminated_run_ends_at_once_and_what_it_waited_for_is_gone() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        assert!(run.terminate().await.unwrap());
        assert!(!run.terminate().await.unwrap());
        fakes.latch.open();
        world.settle().await;
        assert_eq!(failed(run.result().await), RunError::Terminated);
        assert!(run.send(Note(1)).await.is_err());
        let status = run.status().await.unwrap().unwrap();
        assert_eq!((status.phase, status.waits_for.len()), (RunPhase::Terminated, 0));
        assert_eq!(
            world.view("job", "a").await.unwrap().unwrap().meta.alarm.map(|at| at > world.now()),
            Some(true),
            "only its retention"
        );
    }
}

/// L3, W9, fC19
#[tokio::test]
async fn a_step_that_ends_while_its_run_is_ended_by_somebody_is_dropped_and_counted() {
    for abandons in [false, true] {
        for setup in both() {
            let (world, fakes) = started(setup).await;
            let run = world.client().job("a");
            run.start("slow".into()).await.unwrap();
            // The result of the step arrives when the end of the run is decided but not durable yet.
            world.store_fails(Fault::Down);
            let comes = async {
                world.settle().await;
                fakes.latch.open();
                world.advance(d!("1s")).await;
                world.store_works();
                world.advance(d!("3m")).await;
            };
            let ends = async { if abandons { run.cancel_abandoning_steps().await } else { run.terminate().await } };
            let (ended, ()) = tokio::join!(ends, comes);
            assert!(ended.unwrap());
            let (phase, error) = if abandons {
                (RunPhase::Cancelled, RunError::Cancelled)
            } else {
                (RunPhase::Terminated, RunError::Terminated)
            };
            assert_eq!(failed(run.result().await), error);
            let status = run.status().await.unwrap().unwrap();
            assert_eq!((status.phase, status.late), (phase, 1));
        }
    }
}

/// L3, fC6
#[tokio::test]
async fn of_a_cancel_and_an_end_the_first_counts() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("quick".into()).await.unwrap();
    let (sent, cancelled) = tokio::join!(run.send(Note(1)).into_future(), run.cancel().into_future());
    assert!(sent.unwrap().taken);
    assert!(!cancelled.unwrap());
    assert_eq!(run.result().await.unwrap(), "quick 1");
    let other = world.client().job("b");
    other.start("quick".into()).await.unwrap();
    let (cancelled, sent) = tokio::join!(other.cancel().into_future(), other.send(Note(1)).into_future());
    assert!(cancelled.unwrap());
    assert!(!sent.unwrap().taken, "a run on its way out still takes events in");
    world.advance(d!("1m")).await;
    assert_eq!(failed(other.result().await), RunError::Cancelled);
}

/// L2
#[tokio::test]
async fn whoever_waits_for_a_result_gets_it_when_it_is_there() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("quick".into()).await.unwrap();
    let waiting = run.result().into_future();
    let (result, sent) = tokio::join!(waiting, run.send(Note(9)).into_future());
    assert!(sent.unwrap().taken);
    assert_eq!(result.unwrap(), "quick 9");
    let unknown = world.client().job("nobody").result().await;
    assert_eq!(failed(unknown), RunError::NotFound);
}

/// L9
#[tokio::test]
async fn a_run_is_kept_for_its_retention_and_then_its_key_is_free() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().job("a");
        run.start("fails".into()).await.unwrap();
        world.advance(d!("23h 59m")).await;
        assert!(run.start("again".into()).await.is_err());
        assert_eq!(run.history().await.unwrap().len(), 3);
        world.advance(d!("1m")).await;
        assert_eq!(run.status().await.unwrap(), None);
        run.start("again".into()).await.unwrap();
        assert_eq!(run.history().await.unwrap().operations().collect::<Vec<_>>(), ["work#1"]);
    }
}

/// D1
#[tokio::test]
async fn events_that_nobody_took_are_dead_letters_when_the_run_ends() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let run = world.client().job("a");
        run.start("slow".into()).await.unwrap();
        for number in 1..=3 {
            run.send(Note(number)).await.unwrap();
            run.send(Hint(number)).await.unwrap();
        }
        run.terminate().await.unwrap();
        world.settle().await;
        let letters = world.dead_letters().list(Filter::default()).await.unwrap().letters;
        assert_eq!(letters.len(), 3, "hints are discarded: {letters:?}");
        assert!(letters.iter().all(|letter| letter.what == What::Event && letter.key == "a"));
        assert!(letters[0].reason.contains("terminated"), "{}", letters[0].reason);
        let opened = world.dead_letters().get(letters[1].id).await.unwrap();
        assert_eq!(opened.payload, Payload::Event(json!(2)));
        assert_eq!(opened.letter.event.as_deref(), Some("Note"));
        assert!(run.events().await.unwrap().is_empty());
    }
}

/// L8, E15
#[tokio::test]
async fn a_query_that_says_something_is_refused_for_it_would_be_lost() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("quick".into()).await.unwrap();
    assert_eq!(run.at().await.unwrap(), "waiting");
    let refused = fault(run.shout().await);
    assert!(matches!(&refused, Error::Malformed { reason, .. } if reason.contains("would be lost")), "{refused:?}");
    assert!(!names(&world.events()).contains(&"job.shouted"));
}

/// L1
#[tokio::test]
async fn a_run_can_be_listed_and_explained() {
    let (world, _) = started(World::memory()).await;
    let run = world.client().job("a");
    run.start("quick".into()).await.unwrap();
    let view = world.view("job", "a").await.unwrap().unwrap();
    assert_eq!((view.kind.as_str(), view.name.as_str()), ("workflow", "job"));
    assert_eq!(view.state, json!({ "at": "waiting" }));
    let shown = run.status().await.unwrap().unwrap().waits_for;
    assert_eq!(shown[0].operation, "wait:Note#1");
    assert!(run.destroy().await.unwrap());
    assert_eq!(run.status().await.unwrap(), None);
}

/// L1, W11
#[tokio::test]
async fn a_run_that_returns_with_a_state_that_is_too_long_has_failed_and_nothing_else() {
    for setup in both() {
        let (world, _) = started(setup).await;
        for (key, sleeps) in [("at once", false), ("later", true)] {
            let other = world.client().long(key);
            let told = other.execute(sleeps, 2 << 20, 1).await.unwrap_err().failed().unwrap();
            assert!(matches!(&told, RunError::Fault(fault) if fault.to_string().contains("bytes in its state")));
            assert_eq!(other.result().await.unwrap_err().failed().unwrap(), told, "{key}");
            assert_eq!(other.status().await.unwrap().unwrap().phase, RunPhase::Failed, "{key}");
            assert_eq!(ends(&other).await, 1, "{key}");
        }
        let grown = world.client().long("grown");
        grown.start(true, 600 << 10, 1).await.unwrap();
        let result = grown.result();
        let (told, ()) = tokio::join!(result.into_future(), world.advance(d!("1h")));
        assert!(matches!(told.unwrap_err().failed().unwrap(), RunError::Fault(_)), "it was not told of a success");
        assert_eq!(grown.status().await.unwrap().unwrap().phase, RunPhase::Failed);
        assert_eq!((ends(&grown).await, grown.state().await.unwrap().unwrap().text.len()), (1, 600 << 10));
        let run = world.client().long("cancelled");
        run.start(true, BYTES_MAX - 100, 1).await.unwrap();
        run.cancel().await.unwrap();
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Cancelled);
        assert!(status.cleanup_error.unwrap().contains("bytes in its state"));
        assert_eq!(ends(&run).await, 1);
    }
}

/// L1, W11
#[tokio::test]
async fn results_of_every_length_around_the_limit_end_their_runs_once() {
    let (world, _) = started(World::memory()).await;
    for bytes in BYTES_MAX - 200..=BYTES_MAX + 1 {
        let run = world.client().long(format!("{bytes}"));
        let told = run.execute(false, 1, bytes - 2).await;
        let phase = run.status().await.unwrap().unwrap().phase;
        match (&told, run.result().await) {
            (Ok(result), Ok(again)) => {
                assert_eq!((result.len(), again.len(), phase), (bytes - 2, bytes - 2, RunPhase::Succeeded));
            }
            (Err(_), Err(_)) => assert_eq!(phase, RunPhase::Failed, "{bytes}"),
            _ => panic!("{bytes}: it was told otherwise at first"),
        }
        assert_eq!(ends(&run).await, 1, "{bytes}");
    }
}

/// L1, L3, W11
#[tokio::test]
async fn a_run_with_the_longest_state_can_be_cancelled() {
    let (world, _) = started(World::memory()).await;
    for bytes in (BYTES_MAX - 120..=BYTES_MAX).step_by(10) {
        let run = world.client().long(format!("{bytes}"));
        // The limit includes the JSON around the text.
        run.start(true, bytes - 11, 1).await.unwrap();
        assert!(run.cancel().await.unwrap());
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Cancelled, "{bytes}");
        assert!(status.cleanup_error.is_some(), "{bytes}");
        assert_eq!(ends(&run).await, 1, "{bytes}");
    }
}
