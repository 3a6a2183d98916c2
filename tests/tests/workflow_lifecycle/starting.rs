//! How a run begins (L1, L2).

use super::*;

#[derive(Primitives)]
struct App {
    job: Job,
    quick: Quick,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// A workflow that ends at once.
#[derive(Default, Serialize, Deserialize)]
struct Quick;

#[workflow]
impl Quick {
    async fn run(_flow: &Flow<Self>) -> u32 {
        1
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
async fn racing_starts_with_one_idempotency_key_get_the_same_answer() {
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
