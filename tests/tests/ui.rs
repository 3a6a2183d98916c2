//! The messages of the macros about mistakes, and the code that they accept.
//!
//! The messages are compared on one version of Rust only, because parts of them come from the compiler and
//! change with it.

use std::process::Command;

/// The version that made the `.stderr` files. `TRYBUILD=overwrite cargo test -p drystone-tests --test ui`
/// writes them anew.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_are_told_where_they_are_and_the_rest_compiles() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    if is_pinned() {
        cases.compile_fail("tests/ui/fail/*.rs");
    }
}

fn is_pinned() -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().expect("the compiler that built this is there");
    String::from_utf8_lossy(&version.stdout).starts_with(PINNED)
}
