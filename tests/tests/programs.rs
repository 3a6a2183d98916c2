//! The command lines of the programs that prove and measure: `cargo sim`, `cargo crash` and `cargo load`.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::process::{Command, Output};

const PROGRAMS: [(&str, &str); 3] = [
    ("cargo sim", env!("CARGO_BIN_EXE_sim")),
    ("cargo crash", env!("CARGO_BIN_EXE_crash")),
    ("cargo load", env!("CARGO_BIN_EXE_load")),
];

/// Runs a program with backtraces turned on.
fn run(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(program).args(arguments).env("RUST_BACKTRACE", "full").output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn help_explains_each_program_and_ends_with_success() {
    for (name, program) in PROGRAMS {
        let (code, help, errors) = run(program, &["--help"]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{name}");
        assert!(help.contains(&format!("Usage: {name}")), "{name} answers: {help}");
        assert!(!help.contains("Commands:"), "{name} shows what only itself calls: {help}");
    }
}

#[test]
fn a_wrong_option_is_an_error_in_words_with_exit_code_2() {
    for (name, program) in PROGRAMS {
        let (code, output, errors) = run(program, &["--hlep"]);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{name}");
        assert!(errors.starts_with("error: unexpected argument '--hlep' found"), "{name} answers: {errors}");
        assert!(!errors.contains("backtrace"), "{name} answers: {errors}");
    }
}
