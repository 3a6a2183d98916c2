//! A body that awaits what is not durable, or uses its flow elsewhere, is stopped with a message (W7, W8).

use super::*;

#[derive(Primitives)]
struct App {
    endless: Endless,
    restless: Restless,
    woken: Woken,
    step_inside: StepInside,
    step_as_code: StepAsCode,
    state_inside: StateInside,
    observer: Observer,
    reader: Reader,
}

/// Checks that a run is stopped because its body awaits something that is not durable.
fn is_not_durable(status: RunStatus) {
    assert_eq!(status.phase, RunPhase::Panicked);
    let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("it is stopped") };
    assert!(message.contains("not durable"), "{message}");
}

/// Awaits a future that never ends.
#[derive(Default, Serialize, Deserialize)]
struct Endless;

#[workflow]
impl Endless {
    async fn run(_flow: &Flow<Self>) {
        assume_durable(std::future::pending::<()>()).await;
    }
}

/// W7
#[tokio::test]
async fn a_body_that_awaits_a_future_without_an_end_is_stopped() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().endless("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        is_not_durable(run.status().await.unwrap().unwrap());
        assert!(run.terminate().await.unwrap());
    }
}

/// Yields to the runtime.
#[derive(Default, Serialize, Deserialize)]
struct Restless;

#[workflow]
impl Restless {
    async fn run(_flow: &Flow<Self>) {
        assume_durable(tokio::task::yield_now()).await;
    }
}

/// W7
#[tokio::test]
async fn a_body_that_yields_to_the_runtime_is_stopped() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().restless("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        is_not_durable(run.status().await.unwrap().unwrap());
        assert!(run.terminate().await.unwrap());
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

/// Sleeps, and awaits a future that is woken by hand.
#[derive(Default, Serialize, Deserialize)]
struct Woken;

#[workflow]
impl Woken {
    async fn run(flow: &Flow<Self>) {
        select! {
            () = flow.sleep("1h") => {}
            () = assume_durable(bell()) => {}
        }
    }
}

/// W7: While it waits for something durable.
#[tokio::test]
async fn a_body_that_something_else_wakes_is_stopped_at_once() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().woken("a");
        run.start().await.unwrap();
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

/// Checks that code beside the body panicked because it used the flow.
fn flow_is_the_bodys<E: Debug>(result: Result<(), CallError<RunError<E>>>) {
    let fault = fault_of(result);
    let Cause::Panicked { message, .. } = fault.cause else { panic!("{fault}") };
    assert!(message.contains("`flow` is the body's"), "{message}");
}

/// Asks for a step inside code.
#[derive(Default, Serialize, Deserialize)]
struct StepInside;

#[workflow]
impl StepInside {
    async fn run(flow: &Flow<Self>) {
        let inside = flow.clone();
        flow.run("code", async move { inside.peek().await }).await;
    }

    #[step]
    async fn peek() {}
}

/// W7
#[tokio::test]
async fn a_step_inside_code_beside_the_body_panics() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().step_inside("a");
        run.start().await.unwrap();
        flow_is_the_bodys(run.result().await);
    }
}

/// Passes a step as code.
#[derive(Default, Serialize, Deserialize)]
struct StepAsCode;

#[workflow]
impl StepAsCode {
    async fn run(flow: &Flow<Self>) {
        let step = flow.peek();
        flow.run("code", step).await;
    }

    #[step]
    async fn peek() {}
}

/// W7
#[tokio::test]
async fn a_step_that_is_passed_as_code_panics() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().step_as_code("a");
        run.start().await.unwrap();
        flow_is_the_bodys(run.result().await);
    }
}

/// Changes the state inside code.
#[derive(Default, Serialize, Deserialize)]
struct StateInside {
    times: u32,
}

#[workflow]
impl StateInside {
    async fn run(flow: &Flow<Self>) {
        let inside = flow.clone();
        flow.run("code", async move { inside.update(|cheat| cheat.times += 1) }).await;
    }
}

/// W7
#[tokio::test]
async fn a_change_of_the_state_inside_code_panics() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().state_inside("a");
        run.start().await.unwrap();
        flow_is_the_bodys(run.result().await);
    }
}

/// Has a guard that reads the state when the body is dropped.
#[derive(Default, Serialize, Deserialize)]
struct Observer {
    times: u32,
}

#[workflow]
impl Observer {
    async fn run(flow: &Flow<Self>) {
        let _drop = Looks(flow.clone());
        flow.sleep("1h").await;
    }
}

/// Reads its run's state when the body drops it.
struct Looks(Flow<Observer>);

impl Drop for Looks {
    fn drop(&mut self) {
        self.0.look(|cheat| assert_eq!(cheat.times, 0));
    }
}

/// W7, E13: The body is dropped when its run leaves memory.
#[tokio::test]
async fn a_value_that_a_body_drops_may_read_the_runs_state() {
    for setup in both() {
        let world = setup.options(|options| options.evict_after = d!("5s")).start::<App>().await;
        let run = world.client().observer("a");
        run.start().await.unwrap();
        world.advance(d!("1m")).await;
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Suspended);
        world.advance(d!("1h")).await;
        run.result().await.unwrap();
    }
}

/// W8
#[tokio::test]
async fn an_unused_run_leaves_memory_and_is_replayed_later() {
    for setup in both() {
        let world = setup.options(|options| options.evict_after = d!("5s")).start::<App>().await;
        let run = world.client().reader("a");
        run.start("event".into()).await.unwrap();
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
