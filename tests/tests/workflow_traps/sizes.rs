//! Values that are too large for a record (W11, K3, V3).

use super::*;

/// Checks that a run of the workflow ends with a fault that names the bytes if its value is too large, and
/// that a smaller value is recorded.
macro_rules! is_a_fault_if_too_large {
    ($workflow:ident) => {
        for setup in both() {
            let world = setup.start::<App>().await;
            let run = world.client().$workflow("large");
            run.start(2 << 20).await.unwrap();
            world.advance(d!("2h")).await;
            let fault = fault_of(run.result().await).to_string();
            assert!(fault.contains("bytes"), "{fault}");
            let small = world.client().$workflow("small");
            small.start(100_000).await.unwrap();
            world.restart().await;
            world.advance(d!("2h")).await;
            assert!(small.status().await.unwrap().unwrap().phase.has_ended());
            assert!(matches!(small.try_result().await, Ok(_) | Err(CallError::Failed(RunError::Failed(_)))));
        }
    };
}

#[derive(Primitives)]
struct App {
    output: Output,
    error: StepError,
    input: Input,
    inputs: Inputs,
    state: State,
    later_state: LaterState,
    result: BodyError,
    reader: Reader,
}

/// A step with an outcome of so many bytes.
#[derive(Default, Serialize, Deserialize)]
struct Output;

#[workflow]
impl Output {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        Ok(flow.long(bytes).await?.len())
    }

    #[step]
    async fn long(bytes: usize) -> Result<String, Failure> {
        Ok("x".repeat(bytes))
    }
}

/// W11, K3
#[tokio::test]
async fn an_outcome_that_is_too_large_is_a_fault() {
    is_a_fault_if_too_large!(output);
}

/// A step with an error of so many bytes.
#[derive(Default, Serialize, Deserialize)]
struct StepError;

#[workflow]
impl StepError {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        flow.long_error(bytes).await
    }

    #[step(max_attempts = 1)]
    async fn long_error(bytes: usize) -> Result<usize, Failure> {
        Err("x".repeat(bytes).into())
    }
}

/// W11, K3
#[tokio::test]
async fn an_error_of_a_step_that_is_too_large_is_a_fault() {
    is_a_fault_if_too_large!(error);
}

/// A step with an input of so many bytes.
#[derive(Default, Serialize, Deserialize)]
struct Input;

#[workflow]
impl Input {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        flow.sleep("1h").await;
        Ok(flow.measure("x".repeat(bytes)).await)
    }

    #[step]
    async fn measure(text: String) -> usize {
        text.len()
    }
}

/// W11, K3
#[tokio::test]
async fn an_input_of_a_step_that_is_too_large_is_a_fault() {
    is_a_fault_if_too_large!(input);
}

/// Steps whose inputs have twice as many bytes together.
#[derive(Default, Serialize, Deserialize)]
struct Inputs;

#[workflow]
impl Inputs {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        let measured = join_all((0..5).map(|_| flow.measure("x".repeat(bytes * 2 / 5)))).await;
        Ok(measured.into_iter().sum())
    }

    #[step]
    async fn measure(text: String) -> usize {
        text.len()
    }
}

/// W11, K3
#[tokio::test]
async fn inputs_that_are_too_large_together_are_a_fault() {
    is_a_fault_if_too_large!(inputs);
}

/// A state of so many bytes.
#[derive(Default, Serialize, Deserialize)]
struct State {
    text: String,
}

#[workflow]
impl State {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        flow.sleep("1h").await;
        flow.update(|hoarder| hoarder.text = "x".repeat(bytes));
        flow.sleep("1h").await;
        Ok(flow.look(|hoarder| hoarder.text.len()))
    }
}

/// W11, K3
#[tokio::test]
async fn a_state_that_is_too_large_is_a_fault() {
    is_a_fault_if_too_large!(state);
}

/// A state of so many bytes. The run gets another entry in the same turn before its state is checked.
#[derive(Default, Serialize, Deserialize)]
struct LaterState {
    text: String,
}

#[workflow]
impl LaterState {
    async fn run(flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        flow.sleep("1h").await;
        flow.update(|hoarder| hoarder.text = "x".repeat(bytes));
        flow.sleep_until(Timestamp::from_millis(1)).await;
        flow.sleep("1h").await;
        Ok(flow.look(|hoarder| hoarder.text.len()))
    }
}

/// W11, K3
#[tokio::test]
async fn a_state_that_is_too_large_is_a_fault_after_another_entry() {
    is_a_fault_if_too_large!(later_state);
}

/// An error of the body of so many bytes.
#[derive(Default, Serialize, Deserialize)]
struct BodyError;

#[workflow]
impl BodyError {
    async fn run(_flow: &Flow<Self>, bytes: usize) -> Result<usize, Failure> {
        Err("x".repeat(bytes).into())
    }
}

/// W11, K3
#[tokio::test]
async fn an_error_of_the_body_that_is_too_large_is_a_fault() {
    is_a_fault_if_too_large!(result);
}

/// K3, V3: Nothing is stored.
#[tokio::test]
async fn an_input_or_event_that_is_too_large_is_refused() {
    for setup in both() {
        let world = setup.start::<App>().await;
        let run = world.client().reader("a");
        let refused = fault(run.start("x".repeat(2 << 20)).await);
        assert!(matches!(refused, Error::TooLarge { .. }), "{refused:?}");
        assert_eq!(run.status().await.unwrap(), None);
        run.start("event".into()).await.unwrap();
        assert!(matches!(fault(run.send(Note("x".repeat(2 << 20))).await), Error::TooLarge { .. }));
        assert!(run.events().await.unwrap().is_empty());
        run.send(Note("x".repeat(900_000))).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 900_000);
    }
}
