//! How a step is retried, and when it gives up (W3).

use super::*;

#[derive(Primitives)]
struct App {
    stumbling: Stumbling,
    faulty: Faulty,
    hopeless: Hopeless,
    brief: Brief,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// W3: Three times in three seconds by default.
#[tokio::test]
async fn a_step_is_retried_after_its_pauses() {
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

/// W3: attempts begin at 0, 60 and 120 s. An attempt at 180 s would come after
/// the limit of 150 s. The error of the step is the last failure.
#[tokio::test]
async fn a_step_gives_up_when_its_time_is_over() {
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
