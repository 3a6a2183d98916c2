//! A recorded history is replayed against the code (R5).

use super::*;

/// R5
#[tokio::test]
async fn a_history_is_replayed_against_todays_code() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<first::App>().await;
    let run = world.client().order("a");
    run.start(7).await.unwrap();
    let half = run.history().await.unwrap();
    run.send(Go).await.unwrap();
    let whole = run.history().await.unwrap();
    let whole = History::from_json(&whole.to_json().unwrap()).unwrap();
    assert_eq!(replay::<first::Order>(&half), Ok(()));
    assert_eq!(replay::<first::Order>(&whole), Ok(()));
    assert_eq!(replay::<fixed::Order>(&half), Ok(()), "it differs in what has not happened yet");
    let Err(ReplayError::Diverged(divergence)) = replay::<fixed::Order>(&whole) else {
        panic!("its last step differs")
    };
    assert_eq!(divergence.entry, 4);
    for diverges in [replay::<added::Order>(&half), replay::<reordered::Order>(&half), replay::<removed::Order>(&whole)]
    {
        assert!(matches!(diverges, Err(ReplayError::Diverged(_))), "{diverges:?}");
    }
    assert!(matches!(replay::<panics::Order>(&half), Err(ReplayError::Panicked { .. })));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order.json");
    whole.save(&file).unwrap();
    assert_eq!(replay::<first::Order>(&History::load(&file).unwrap()), Ok(()));
}

/// R5, W4
#[tokio::test]
async fn an_edit_to_an_open_wait_is_found_in_the_history() {
    let world = World::memory().services(Fakes::default()).start::<first::App>().await;
    let run = world.client().order("a");
    run.start(7).await.unwrap();
    let half = run.history().await.unwrap().to_json().unwrap();
    let read = History::from_json(&half).unwrap();
    assert_eq!(replay::<first::Order>(&read), Ok(()));
    let Err(ReplayError::Diverged(divergence)) = replay::<another_wait::Order>(&read) else {
        panic!("it waits for something else")
    };
    assert_eq!((divergence.entry, divergence.expected.as_str()), (3, "`wait:Go#1`"), "{divergence}");
    assert_eq!(divergence.found, "asks for `sleep#1`");
    // A file from an earlier version does not say what the run waited for.
    let mut old: serde_json::Value = serde_json::from_str(&half).unwrap();
    old.as_object_mut().unwrap().remove("pending").unwrap();
    assert_eq!(replay::<another_wait::Order>(&History::from_json(&old.to_string()).unwrap()), Ok(()));
}

/// Two branches at once, each with a gate before each of its steps, and a race that one of them loses.
mod forked {
    use drystone::testing::Latch;

    use super::*;

    #[derive(Clone, Default, Services)]
    pub(super) struct Fakes {
        pub(super) log: Log,
        pub(super) doors: Doors,
    }

    /// The gates of the branches.
    #[derive(Clone, Default)]
    pub(super) struct Doors(pub(super) [Latch; 2]);

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Fork;

    #[workflow]
    impl Fork {
        async fn run(flow: &Flow<Self>) -> (String, String) {
            join!(Self::branch(flow, 0), Self::branch(flow, 1))
        }

        async fn branch(flow: &Flow<Self>, door: usize) -> String {
            let first = flow.fetch(door, String::new()).await;
            select! {
                second = flow.fetch(door, first.clone()) => second,
                () = flow.sleep("1h") => "too late".to_owned(),
            }
        }

        #[step]
        async fn fetch(door: usize, before: String, doors: &Doors, log: &Log) -> String {
            log.say(format!("fetch {door} {before}"));
            doors.0[door].clone().wait().await;
            format!("{before}{door}")
        }
    }

    #[derive(Primitives)]
    pub(super) struct App {
        fork: Fork,
    }
}

/// A history with only the first entries.
fn prefix(history: &History, length: usize) -> History {
    let mut whole: serde_json::Value = serde_json::from_str(&history.to_json().unwrap()).unwrap();
    whole["entries"].as_array_mut().unwrap().truncate(length);
    History::from_json(&whole.to_string()).unwrap()
}

/// W4, L7, R5, fC13: two branches in every order of results, with a replay before each; then every prefix.
/// In any order of the results.
#[tokio::test]
async fn a_replay_from_any_prefix_asks_for_the_same() {
    let orders = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0]];
    let mut all_waited_for = std::collections::BTreeSet::new();
    for order in orders {
        let fakes = forked::Fakes::default();
        let world = World::memory().services(fakes.clone()).start::<forked::App>().await;
        let run = world.client().fork("a");
        run.start().await.unwrap();
        let mut waited_for = Vec::new();
        for door in order {
            world.restart().await;
            // From the third death on, a step that never ended is held back for ten minutes at most (W2).
            world.advance(d!("10m")).await;
            let status = run.status().await.unwrap().unwrap();
            assert_eq!(status.phase, RunPhase::Running, "{order:?}: {:?}", status.stopped);
            let operations: Vec<_> = status.waits_for.into_iter().map(|wait| wait.operation).collect();
            all_waited_for.extend(operations.clone());
            waited_for.push(operations);
            fakes.doors.0[door].let_one_through();
            world.settle().await;
        }
        assert_eq!(run.result().await.unwrap(), ("00".to_owned(), "11".to_owned()), "{order:?}");
        let history = run.history().await.unwrap();
        let operations: Vec<_> = history.operations().collect();
        for (waits, operation) in waited_for.iter().zip(&operations) {
            assert!(waits.iter().any(|wait| wait == operation), "{order:?}: {operation} was not among {waits:?}");
        }
        // The prefixes contain the start and all entries but the last, which ends the run.
        for length in 1..history.len() - 1 {
            replay::<forked::Fork>(&prefix(&history, length)).unwrap();
        }
        replay::<forked::Fork>(&history).unwrap();
        let cut = replay::<forked::Fork>(&prefix(&history, history.len() - 1)).unwrap_err().to_string();
        assert!(cut.contains("end"), "without its end it is one that ends too early: {cut}");
    }
    assert_eq!(all_waited_for.len(), 6, "whatever the order, the same operation has the same name: {all_waited_for:?}");
}
