//! The simulator in `cargo test`: a few hundred histories, and a check that the seed alone decides each.

use drystone_tests::sim::{Again, NAMED, tell, tell_all};

/// E1 E3 E4 E5 E7 E8 E12 E14 M1 M2 M3 M4 M5 M6 A2 A5 B2 B3 B4 B5 B6 B7 C1 C3 C4 C5 C6 D1 D2 D3 H1 H2
/// L1 L2 L3 L4 L5 L6 L7 L8 L9 Q1 Q2 Q3 Q4 Q5 R1 R2 R3 R5 R7 S1 S2 S5 T1 T2 T3 T4 T5 T6 V1 V2 V4 V6 V7 V8
/// V9 V10 W1 W2 W3 W4 W6 W9 fC13
#[test]
fn three_hundred_histories_lose_double_and_hang_nothing() {
    let tally = tell_all(0..300, Again::First(0), 1, || {});
    if let Some(failed) = &tally.failed {
        // The simulator prints no panics, so the reason is printed here.
        eprintln!("seed {}: {}; cargo sim -- --seed {} --trace", failed.seed, failed.violations[0], failed.seed);
    }
    assert!(tally.failed.is_none());
}

/// R3 R8 M4 M5
#[test]
fn every_history_that_once_broke_a_law_keeps_it() {
    let failures = NAMED.iter().filter_map(|named| Some((named.name, named.failure()?)));
    let failures: Vec<_> = failures.map(|(name, (course, told))| (name, course, told.violations)).collect();
    // The simulator prints no panics, so the reason is printed here.
    eprintln!("{failures:#?}");
    assert!(failures.is_empty());
}

/// X1
#[test]
fn a_seed_is_all_that_decides() {
    let tally = tell_all(1_000_000..1_000_040, Again::All, 1, || {});
    assert_eq!(tally.differing, Vec::<u64>::new());
    assert_ne!(tell(1, false).hash, tell(2, false).hash);
}

/// X1
#[test]
fn a_trace_changes_nothing() {
    assert_eq!(tell(3, true).hash, tell(3, false).hash);
}

/// B3 B4 B5 B6 C1 C3 C5 D1 L6 Q1 S1 S2 T1 T3 T5 V1 V2 V6 W1 W4 W6
#[cfg(feature = "planted")]
#[test]
fn every_bug_that_is_planted_in_a_kind_is_found() {
    for bug in drystone::Bug::ALL {
        let tally = tell_all(0..2_000, Again::First(0), 1, || drystone::plant(Some(bug)));
        assert!(tally.failed.is_some(), "{bug:?} was not found");
    }
}
