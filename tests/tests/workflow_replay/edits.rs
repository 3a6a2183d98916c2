//! An edit of the code that does not fit the journal is noticed (R5, W7).

use super::*;

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
