//! How often a step is executed (W2).

use super::*;

#[derive(Primitives)]
struct App {
    adhoc: Adhoc,
    charging: Charging,
    own: Own,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// W1, E14, fA1: the outside sees the same work id, although no further attempt is counted.
#[tokio::test]
async fn an_interrupted_step_runs_again_under_the_same_work_id() {
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

/// W8, fC2: a run with a running step is not idle.
#[tokio::test]
async fn a_step_that_outlasts_its_run_in_memory_is_executed_once() {
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

/// W1
#[tokio::test]
async fn code_of_the_body_is_a_step_and_runs_once() {
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
