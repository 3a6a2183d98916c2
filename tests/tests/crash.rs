//! A few kills of a real process in every test run; `cargo crash -- --kills 200` makes more of them.

use drystone_tests::crash::{self, Plan};

/// E4, E12, M1, M5, M6, A2, B3, B5, C6, L5, L6, Q2, R1, T1, T2, T3, T4, T5, V9, W1, W2, W6, W9, fA10
#[test]
fn a_killed_process_loses_nothing_and_doubles_nothing() {
    let plan = Plan { kills: 12, seed: 12, program: env!("CARGO_BIN_EXE_crash").into() };
    let verdict = crash::campaign(&plan).unwrap();
    assert!(verdict.is_clean(), "{verdict}");
    assert_eq!(verdict.kills, 12);
}
