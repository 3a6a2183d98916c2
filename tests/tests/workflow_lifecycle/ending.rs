//! The result of a run, its record, and its unread events (L2, L4, D1).

use super::*;

#[derive(Primitives)]
struct App {
    long: Long,
    job: Job,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// L9: The key is free afterwards.
#[tokio::test]
async fn a_run_is_kept_for_its_retention() {
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

/// The longest possible result or state.
const BYTES_MAX: usize = (1 << 20) - 4_096;

/// L1, W11
#[tokio::test]
async fn a_run_that_returns_with_too_long_a_state_has_failed() {
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
