//! What the macros say of mistakes, and what they take without a word.
//!
//! The words are compared on one version of Rust only: a part of them is the compiler's, and changes with it.

use std::process::Command;

/// The version whose words the `.stderr` files hold. `TRYBUILD=overwrite cargo test -p drystone-tests --test ui` writes
/// them anew.
const PINNED: &str = "rustc 1.95.";

// Two tests: where all cases are mistakes they are looked at together, by all processors.

#[test]
fn mistakes_are_told_where_they_are() {
    if is_pinned() {
        trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
    }
}

#[test]
fn what_is_right_compiles_and_runs() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

fn is_pinned() -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().expect("the compiler that built this is there");
    String::from_utf8_lossy(&version.stdout).starts_with(PINNED)
}
