//! Limits of a journal and of the operations at once (W11).

use super::*;

#[derive(Primitives)]
struct App {
    entries: Entries,
    outputs: Outputs,
    sleeps: Sleeps,
    rounds: Rounds,
    texts: Texts,
    held_texts: HeldTexts,
}

/// Makes `count` entries in its journal.
#[derive(Default, Serialize, Deserialize)]
struct Entries;

#[workflow]
impl Entries {
    async fn run(flow: &Flow<Self>, count: usize) {
        for _ in 0..count {
            flow.sleep_until(Timestamp::from_millis(0)).await;
        }
    }
}

/// W11: A warning comes before.
#[tokio::test]
async fn a_journal_with_too_many_entries_fails_its_run() {
    let world = World::memory().start::<App>().await;
    let run = world.client().entries("a");
    run.start(60_000).await.unwrap();
    world.advance(d!("1m")).await;
    let fault = fault_of(run.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "journal entries".into(), limit: 50_000 });
    assert_eq!(fault.to_string(), "`sleep#50000` goes beyond the limit of 50000 journal entries");
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.long", "workflow.failed"]);
}

/// Records `count` long outcomes.
#[derive(Default, Serialize, Deserialize)]
struct Outputs;

#[workflow]
impl Outputs {
    async fn run(flow: &Flow<Self>, count: usize) -> Result<usize, Failure> {
        for _ in 0..count {
            flow.long(1_000_000).await?;
        }
        Ok(count)
    }

    #[step]
    async fn long(bytes: usize) -> Result<String, Failure> {
        Ok("x".repeat(bytes))
    }
}

/// W11: A warning comes before.
#[tokio::test]
async fn a_journal_with_too_many_bytes_fails_its_run() {
    let world = World::memory().start::<App>().await;
    let (run, small) = (world.client().outputs("a"), world.client().outputs("small"));
    run.start(70).await.unwrap();
    let fault = fault_of(run.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "bytes in its journal".into(), limit: 64 << 20 });
    assert_eq!(fault.step, "long#69", "the one after that with which it was full");
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.long", "workflow.failed"]);
    small.start(2).await.unwrap();
    assert_eq!(small.result().await.unwrap(), 2);
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.succeeded"]);
}

/// Sleeps `count` times at once.
#[derive(Default, Serialize, Deserialize)]
struct Sleeps;

#[workflow]
impl Sleeps {
    async fn run(flow: &Flow<Self>, count: usize) -> usize {
        join_all((0..count).map(|_| flow.sleep("1h"))).await.len()
    }
}

/// W11: As many as are allowed do not.
#[tokio::test]
async fn too_many_operations_at_once_fail_their_run() {
    let world = World::memory().start::<App>().await;
    let (many, too_many) = (world.client().sleeps("many"), world.client().sleeps("too many"));
    many.start(4_096).await.unwrap();
    too_many.start(4_097).await.unwrap();
    let fault = fault_of(too_many.result().await);
    assert_eq!(fault.cause, Cause::Limit { what: "operations at once".into(), limit: 4_096 });
    assert!(too_many.status().await.unwrap().unwrap().waits_for.is_empty());
    world.restart().await;
    world.advance(d!("1h")).await;
    assert_eq!(many.result().await.unwrap(), 4_096);
}

/// Sleeps `count` times at once, three times. The number stays the same: a sleep that ends is followed by
/// another.
#[derive(Default, Serialize, Deserialize)]
struct Rounds;

#[workflow]
impl Rounds {
    async fn run(flow: &Flow<Self>, count: usize) -> usize {
        let round = |_| async {
            for _ in 0..3 {
                flow.sleep("1h").await;
            }
        };
        join_all((0..count).map(round)).await.len()
    }
}

/// W11
#[tokio::test]
async fn a_run_near_the_limit_of_operations_is_warned_of_once() {
    let world = World::memory().start::<App>().await;
    let (few, many, too_many) =
        (world.client().sleeps("few"), world.client().rounds("many"), world.client().sleeps("too many"));
    few.start(3_275).await.unwrap();
    assert_eq!(names(&world.events()), ["workflow.started"]);
    many.start(3_276).await.unwrap();
    let told = world.events();
    assert_eq!(names(&told), ["workflow.started", "workflow.wide"]);
    let (name, count) = told[1].lifecycle.fields.iter().next().unwrap();
    assert_eq!((name.as_str(), &count[..]), ("operations", &b"3276"[..]));
    world.advance(d!("1h")).await;
    world.restart().await;
    world.advance(d!("2h")).await;
    assert_eq!(many.result().await.unwrap(), 3_276);
    assert_eq!(names(&world.events()), ["workflow.succeeded"; 2], "it was told before");
    too_many.start(4_097).await.unwrap();
    assert_eq!(names(&world.events()), ["workflow.started", "workflow.failed"], "there is nothing to warn of any more");
}

/// Measures `count` texts of two hundred bytes at once.
#[derive(Default, Serialize, Deserialize)]
struct Texts;

#[workflow]
impl Texts {
    async fn run(flow: &Flow<Self>, count: usize) -> usize {
        let measured = join_all((0..count).map(|number| flow.measure(format!("{number:0>200}")))).await;
        measured.into_iter().sum()
    }

    #[step]
    async fn measure(text: String) -> usize {
        text.len()
    }
}

/// Measures `count` texts of two hundred bytes at once, in steps that do not end.
#[derive(Default, Serialize, Deserialize)]
struct HeldTexts;

#[workflow]
impl HeldTexts {
    async fn run(flow: &Flow<Self>, count: usize) -> usize {
        let measured = join_all((0..count).map(|number| flow.held(format!("{number:0>200}")))).await;
        measured.into_iter().sum()
    }

    #[step]
    async fn held(text: String) -> usize {
        std::future::pending::<()>().await;
        text.len()
    }
}

/// W11
#[tokio::test]
async fn the_inputs_of_all_steps_need_not_fit_into_a_record() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().texts("some");
        run.start(300).await.unwrap();
        world.restart().await;
        world.settle().await;
        assert_eq!(run.result().await.unwrap(), 300 * 200, "each has its own, also after a crash");
    }
    let world = World::memory().start::<App>().await;
    let run = world.client().held_texts("all");
    run.start(4_096).await.unwrap();
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Running);
    assert!(run.terminate().await.unwrap());
}
