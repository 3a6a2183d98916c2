//! An error of a transactional step, its retry, and a run that ends before it (W3, W6).

use super::*;

/// The number of executions of a step that fails at first. Each name is used in only one test.
fn tries(name: &str) -> usize {
    DONE.with_borrow(|done| done.iter().filter(|line| *line == name).count())
}

/// A booking that fails at first, with a backoff of an hour.
#[derive(Default, Serialize, Deserialize)]
struct Slow;

#[workflow]
impl Slow {
    async fn run(flow: &Flow<Self>, name: String, races: bool) -> Result<i64, Failure> {
        if !races {
            return flow.book(name).await;
        }
        select! {
            booked = flow.book(name) => booked,
            _ = flow.sleep("10m") => Ok(-1),
        }
    }

    #[step(transaction, backoff = "1h")]
    fn book(name: String, sql: &mut Transaction<'_>) -> Result<i64, Failure> {
        done(&name[..1]);
        let sum = write(&name, 1, sql)?;
        if tries(&name[..1]) == 1 { Err("not yet".into()) } else { Ok(sum) }
    }
}

#[derive(Primitives)]
struct App {
    slow: Slow,
    broken: Broken,
}

/// W6, W3: The error is the step's own.
#[tokio::test]
async fn a_retry_begins_with_the_rows_as_they_were() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let run = world.client().slow("a");
    run.start("ada".into(), false).await.unwrap();
    let status = run.status().await.unwrap().unwrap();
    assert_eq!(status.waits_for[0].last_error.as_ref().unwrap().message(), "not yet");
    assert_eq!(ledger(&world).await, []);
    world.advance(d!("1h")).await;
    assert_eq!(run.result().await.unwrap(), 1);
    assert_eq!(ledger(&world).await, [row("ada", 1)]);
}

/// W6: The run is terminated, or another future won the race.
#[tokio::test]
async fn a_run_without_its_step_books_nothing_any_more() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (ended, raced) = (world.client().slow("a"), world.client().slow("b"));
    ended.start("ada".into(), false).await.unwrap();
    raced.start("bob".into(), true).await.unwrap();
    ended.terminate().await.unwrap();
    world.advance(d!("3h")).await;
    assert_eq!(raced.result().await.unwrap(), -1);
    assert_eq!(ledger(&world).await, []);
    assert_eq!(taken(), ["a", "b"]);
}

#[derive(Default, Serialize, Deserialize)]
struct Broken;

#[workflow]
impl Broken {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.book().await;
        Ok(())
    }

    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn book(_sql: &mut Transaction<'_>) {
        panic!("no")
    }
}

/// W6, W3
#[tokio::test]
async fn a_fault_in_a_transaction_fails_the_run() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let run = world.client().broken("a");
    run.start().await.unwrap();
    let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("it is at fault") };
    assert_eq!(fault, Fault { step: "book#1".into(), cause: Cause::Panicked { message: "no".into(), attempts: 1 } });
}
