//! Code that changes under a run: the change is found at the exact step; and recorded histories as tests
//! (W4, R5, F).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::sync::atomic::{AtomicBool, Ordering};

use drystone::{
    Event, Failure, Flow, Primitives, Services, d,
    testing::{Log, ReplayError, World, replay},
    workflow,
    workflow::{Divergence, History, RunPhase, Stopped},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// A version of a workflow, with a body of its own.
macro_rules! version {
    ($module:ident, $flow:ident, $total:ident, $body:block) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Order;

            #[workflow(events(Go))]
            impl Order {
                async fn run($flow: &Flow<Self>, $total: u32) -> Result<u32, Failure> $body

                #[step]
                async fn reserve(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("reserve {total}"));
                    Ok(total)
                }

                #[step]
                async fn charge(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("charge {total}"));
                    Ok(total + 1)
                }

                #[step]
                async fn ship(total: u32, log: &Log) -> Result<u32, Failure> {
                    log.say(format!("ship {total}"));
                    Ok(total + 2)
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

version!(first, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(added, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.ship(1).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(reordered, flow, total, {
    let charged = flow.charge(total).await?;
    let reserved = flow.reserve(charged).await?;
    flow.wait_for::<Go>().await;
    flow.ship(reserved).await
});
version!(another_input, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved * 2).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(removed, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.wait_for::<Go>().await;
    flow.ship(reserved).await
});
version!(another_wait, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.sleep("1h").await;
    flow.ship(charged).await
});
version!(ends_early, flow, total, {
    let reserved = flow.reserve(total).await?;
    flow.charge(reserved).await
});
version!(branched, flow, total, {
    let (reserved, charged) = join!(async { flow.reserve(total).await }, async { flow.charge(total).await });
    reserved?;
    flow.wait_for::<Go>().await;
    flow.ship(charged?).await
});
version!(panics, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    assert_eq!(charged, 0, "not this time");
    flow.wait_for::<Go>().await;
    flow.ship(charged).await
});
version!(fixed, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.ship(charged + 100).await
});

/// Starts a run of the first version, which waits for its event, then opens the world with another version.
macro_rules! deployed {
    ($module:ident) => {{
        let fakes = Fakes::default();
        let world = World::sqlite().services(fakes.clone()).start::<first::App>().await;
        world.client().order("a").start(7).await.unwrap();
        assert_eq!(fakes.log.take(), ["reserve 7", "charge 7"]);
        let world = world.restart_as::<$module::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2d")).await;
        (world, fakes)
    }};
}

fn diverged(stopped: Option<Stopped>) -> Divergence {
    match stopped {
        Some(Stopped::Diverged(divergence)) => divergence,
        other => panic!("not diverged: {other:?}"),
    }
}

macro_rules! expect_divergence {
    ($module:ident, $entry:expr, $expected:expr, $found:expr, $likely:expr) => {{
        let (world, fakes) = deployed!($module);
        let run = world.client().order("a");
        let sent = run.send(Go).await.unwrap();
        assert!(!sent.taken, "an event to a run that is stopped is kept");
        let status = run.status().await.unwrap().unwrap();
        assert_eq!(status.phase, RunPhase::Diverged);
        let divergence = diverged(status.stopped);
        assert_eq!((divergence.entry, divergence.expected.as_str()), ($entry, $expected), "{divergence}");
        assert!(divergence.found.contains($found), "{divergence}");
        assert_eq!(divergence.likely, $likely);
        assert!(fakes.log.take().is_empty(), "no effect is executed");
        // The original code resumes the run where it was.
        let world = world.restart_as::<fixed::App, _>(fakes.clone()).await.unwrap();
        world.advance(d!("2d")).await;
        assert_eq!(world.client().order("a").result().await.unwrap(), 110);
        assert_eq!(fakes.log.take(), ["ship 108"]);
    }};
}

/// W4, fF2, fF7
#[tokio::test]
async fn a_step_that_was_added_is_noticed_at_its_place() {
    expect_divergence!(
        added,
        2,
        "`charge#1`",
        "asks for `ship#1`",
        "`charge` was removed, renamed or moved, or `ship` was added before it"
    );
}

/// W4, fF2
#[tokio::test]
async fn steps_in_another_order_are_noticed_at_the_first() {
    expect_divergence!(
        reordered,
        1,
        "`reserve#1`",
        "asks for `charge#1`",
        "`reserve` was removed, renamed or moved, or `charge` was added before it"
    );
}

/// W4
#[tokio::test]
async fn a_step_with_another_input_is_noticed() {
    expect_divergence!(
        another_input,
        2,
        "`charge#1` with the input it was given",
        "with another",
        "what is handed to it was changed, or differs from one time to the next (a `HashSet` has another order each time: use a `BTreeSet`)"
    );
}

/// W4, fF2
#[tokio::test]
async fn a_step_that_was_removed_is_noticed_at_its_place() {
    expect_divergence!(
        removed,
        2,
        "`charge#1`",
        "asks for `wait:Go#1`",
        "`charge` was removed, renamed or moved, or `wait:Go` was added before it"
    );
}

/// W4
#[tokio::test]
async fn steps_that_were_moved_into_branches_are_noticed_at_the_first() {
    let likely = "a `reserve` before it was added or removed, or one was moved into or out of a branch";
    expect_divergence!(branched, 1, "`reserve#1`", "asks for `1.0/reserve#1`", likely);
}

/// W4
#[tokio::test]
async fn an_edit_after_the_last_entry_is_noticed() {
    expect_divergence!(
        another_wait,
        3,
        "`wait:Go#1`",
        "asks for `sleep#1`",
        "`wait:Go` was replaced by `sleep`, or that was added before it"
    );
}

/// W4
#[tokio::test]
async fn a_body_that_ends_where_the_journal_goes_on_is_noticed() {
    expect_divergence!(
        ends_early,
        3,
        "that it waits",
        "has ended",
        "what came after was removed, or it returns earlier"
    );
}

/// L1
#[tokio::test]
async fn a_panic_of_the_body_stops_the_run_until_other_code_comes() {
    let (world, fakes) = deployed!(panics);
    let run = world.client().order("a");
    run.send(Go).await.unwrap();
    let status = run.status().await.unwrap().unwrap();
    assert_eq!(status.phase, RunPhase::Panicked);
    let Some(Stopped::Panicked { message, .. }) = status.stopped else { panic!("it panicked") };
    assert!(message.contains("not this time"), "{message}");
    assert!(run.resume().await.unwrap(), "it is tried again");
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked, "and is as it was");
    let world = world.restart_as::<fixed::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(world.client().order("a").result().await.unwrap(), 110);
}

version!(panics_behind, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    assert_eq!(charged, 0, "not this time");
    flow.ship(charged).await
});
version!(sleeps, flow, total, {
    let reserved = flow.reserve(total).await?;
    let charged = flow.charge(reserved).await?;
    flow.wait_for::<Go>().await;
    flow.sleep("24h").await;
    flow.ship(charged).await
});

/// H1, L1
#[tokio::test]
async fn a_sleep_behind_a_stop_begins_when_the_run_gets_there_and_not_when_it_was_stopped() {
    let fakes = Fakes::default();
    let world = World::sqlite().services(fakes.clone()).start::<panics_behind::App>().await;
    world.client().order("a").start(7).await.unwrap();
    world.client().order("a").send(Go).await.unwrap();
    assert_eq!(world.client().order("a").status().await.unwrap().unwrap().phase, RunPhase::Panicked);
    world.advance(d!("7d")).await;
    fakes.log.take();
    let world = world.restart_as::<sleeps::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("23h")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!((status.phase, status.waits_for[0].operation.as_str()), (RunPhase::Suspended, "sleep#1"));
    assert!(fakes.log.take().is_empty());
    world.advance(d!("1h")).await;
    assert_eq!(fakes.log.take(), ["ship 8"]);
}

/// L1
#[tokio::test]
async fn a_run_that_panics_at_its_start_is_kept_and_goes_on_with_other_code() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<hasty::App>().await;
    world.client().order("a").start(1).await.unwrap();
    assert_eq!(world.client().order("a").status().await.unwrap().unwrap().phase, RunPhase::Panicked);
    assert!(world.client().order("a").state().await.unwrap().is_some());
    let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(fakes.log.take(), ["reserve 1", "charge 1"]);
}

version!(hasty, flow, total, {
    let _ = (flow, total);
    panic!("at once")
});

/// W4
#[tokio::test]
async fn code_of_the_bodys_own_that_cannot_be_made_anew_stops_the_run() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<endless::App>().await;
    world.client().order("a").start(1).await.unwrap();
    let world = world.restart_as::<first::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!(diverged(status.stopped).expected, "`run:fetch#1`");
    assert!(fakes.log.take().is_empty());
}

version!(endless, flow, total, {
    flow.run("fetch", std::future::pending::<()>()).await;
    Ok(total)
});

/// W4
#[tokio::test]
async fn a_step_that_takes_something_else_now_stops_the_run_and_does_not_fail_it() {
    let fakes = Fakes::default();
    let world = World::memory().services(fakes.clone()).start::<narrow::App>().await;
    world.client().order("a").start().await.unwrap();
    world.crash().await;
    let world = world.restart_as::<wide::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    let status = world.client().order("a").status().await.unwrap().unwrap();
    assert_eq!(status.phase, RunPhase::Diverged);
    let world = world.restart_as::<narrow::App, _>(fakes.clone()).await.unwrap();
    world.advance(d!("2d")).await;
    assert_eq!(world.client().order("a").result().await.unwrap(), "seven", "with code that fits it goes on");
}

/// A workflow whose step takes another type, and fails until its app is started again.
macro_rules! taking {
    ($module:ident, $type:ty, $value:expr) => {
        mod $module {
            use super::*;

            #[derive(Default, Serialize, Deserialize)]
            pub(super) struct Order;

            #[workflow]
            impl Order {
                async fn run(flow: &Flow<Self>) -> Result<String, Failure> {
                    flow.ship($value).await
                }

                #[step(max_attempts = 2, backoff = "1d")]
                async fn ship(what: $type, cx: &drystone::Context) -> Result<String, Failure> {
                    if cx.attempt() == 1 { Err("not yet".into()) } else { Ok(what.to_string()) }
                }
            }

            #[derive(Primitives)]
            pub(super) struct App {
                order: Order,
            }
        }
    };
}

taking!(narrow, String, "seven".to_owned());
taking!(wide, u32, 7);

/// A workflow that changes the state and panics at the next entry, in the same turn.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fragile {
    at: u32,
}

#[workflow(events(Go))]
impl Fragile {
    async fn run(flow: &Flow<Self>, waits: bool) {
        flow.update(|fragile| fragile.at = 1);
        if waits {
            flow.wait_for::<Go>().await;
            flow.update(|fragile| fragile.at = 2);
        }
        flow.sleep_until(drystone::Timestamp::from_millis(0)).await;
        panic!("not this time");
    }
}

#[derive(Primitives)]
struct Glass {
    fragile: Fragile,
}

/// L1, E7
#[tokio::test]
async fn what_a_body_changed_before_it_panicked_in_the_same_turn_is_kept() {
    let world = World::sqlite().start::<Glass>().await;
    for (key, waits, at) in [("a", false, 1), ("b", true, 2)] {
        let run = world.client().fragile(key);
        run.start(waits).await.unwrap();
        if waits {
            run.send(Go).await.unwrap();
        }
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Panicked);
        assert_eq!(run.state().await.unwrap(), Some(Fragile { at }));
    }
}

/// Whether a dependency of the runs below is broken. The code of the runs is the same before and after.
static BROKEN: AtomicBool = AtomicBool::new(true);

/// Panics or diverges because of a dependency.
#[derive(Default, Serialize, Deserialize)]
struct Dependent;

#[workflow(events(Go))]
impl Dependent {
    async fn run(flow: &Flow<Self>, panics: bool) -> u32 {
        if !panics && BROKEN.load(Ordering::Relaxed) {
            flow.sleep("1s").await;
        }
        let one = flow.one().await;
        flow.wait_for::<Go>().await;
        assert!(!panics || !BROKEN.load(Ordering::Relaxed), "what it uses is broken");
        one
    }

    #[step]
    async fn one() -> u32 {
        1
    }
}

#[derive(Primitives)]
struct Together {
    dependent: Dependent,
}

/// L1, W4
#[tokio::test]
async fn a_run_that_was_stopped_is_tried_again_by_itself_at_first_after_a_minute_and_then_every_hour() {
    let world = World::sqlite().start::<Together>().await;
    let stopped = [("panics", true, RunPhase::Panicked), ("diverges", false, RunPhase::Diverged)];
    BROKEN.store(false, Ordering::Relaxed);
    for (key, panics, _) in stopped {
        world.client().dependent(key).start(panics).await.unwrap();
    }
    BROKEN.store(true, Ordering::Relaxed);
    world.restart().await;
    for (key, ..) in stopped {
        world.client().dependent(key).send(Go).await.unwrap();
    }
    // The pauses are one, two and four minutes and so on, and one hour in the end.
    for pause in [d!("0s"), d!("1m"), d!("2m"), d!("1d")] {
        world.advance(pause).await;
        for (key, _, phase) in stopped {
            assert_eq!(world.client().dependent(key).status().await.unwrap().unwrap().phase, phase, "{key}");
        }
    }
    BROKEN.store(false, Ordering::Relaxed);
    world.advance(d!("1h")).await;
    for (key, ..) in stopped {
        assert_eq!(world.client().dependent(key).result().await.unwrap(), 1, "{key}");
    }
    let told = world.events();
    for name in ["workflow.panicked", "workflow.diverged"] {
        assert_eq!(told.iter().filter(|event| event.lifecycle.name.as_str() == name).count(), 1, "{name} is told once");
    }
}

/// L3
#[tokio::test]
async fn a_run_that_diverged_can_be_cancelled_and_terminated() {
    for phase in [RunPhase::Cancelled, RunPhase::Terminated] {
        let (world, _) = deployed!(added);
        let run = world.client().order("a");
        run.send(Go).await.unwrap();
        assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Diverged);
        let is_first = if phase == RunPhase::Cancelled { run.cancel().await } else { run.terminate().await };
        assert!(is_first.unwrap());
        assert_eq!(run.status().await.unwrap().unwrap().phase, phase);
    }
}

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
async fn an_edit_to_what_a_run_waits_for_now_is_found_in_its_history() {
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
#[tokio::test]
async fn a_replay_from_any_prefix_asks_for_the_same_in_whatever_order_results_come() {
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
