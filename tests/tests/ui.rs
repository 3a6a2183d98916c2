//! The messages of the macros about mistakes, and the code that they accept.
//!
//! The messages are compared on one version of Rust only, because parts of them come from the compiler and
//! change with it. On other versions the mistakes must still fail to compile, with any message.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{env, fs, path::Path, process::Command};

use trybuild::TestCases;

/// The version that made the `.stderr` files. `TRYBUILD=overwrite cargo test -p drystone-tests --test ui`
/// writes them anew.
const PINNED: &str = "rustc 1.95.";

/// The folder of the mistakes for the process that accepts any message.
const ANY_MESSAGE: &str = "UI_ANY_MESSAGE";

#[test]
fn mistakes_are_told_where_they_are_and_the_rest_compiles() {
    if let Some(folder) = env::var_os(ANY_MESSAGE) {
        TestCases::new().compile_fail(Path::new(&folder).join("*.rs"));
        return;
    }
    let cases = TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    if is_pinned() {
        cases.compile_fail("tests/ui/fail/*.rs");
    } else {
        // The cases run when they are dropped, and only one process at a time can run cases.
        drop(cases);
        mistakes_fail_with_any_message();
    }
}

/// Runs the mistakes without their messages. `TRYBUILD=overwrite` accepts every message and writes it beside
/// the case, so the cases are copies in a temporary folder. Only another process can have this variable,
/// because a process may not change its own variables while it has other threads.
fn mistakes_fail_with_any_message() {
    let folder = tempfile::tempdir().unwrap();
    copy_cases(Path::new("tests/ui"), folder.path());
    let test = Command::new(env::current_exe().unwrap())
        .args(["--exact", "mistakes_are_told_where_they_are_and_the_rest_compiles", "--nocapture"])
        .env(ANY_MESSAGE, folder.path().join("fail"))
        .env("TRYBUILD", "overwrite")
        .status()
        .unwrap();
    assert!(test.success(), "a mistake compiles");
}

/// Copies the cases of a folder and of the folders in it, because some cases include others.
fn copy_cases(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy_cases(&path, &to.join(name));
        } else if path.extension().is_some_and(|end| end == "rs") {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

fn is_pinned() -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().expect("the compiler that built this is there");
    String::from_utf8_lossy(&version.stdout).starts_with(PINNED)
}
