//! What the docs name is there.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{fs, path::Path};

/// The page, without the marks of its comments.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../primitives/src/workflow/what_happens_when.rs");
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.trim_start_matches("//!").trim()).collect::<Vec<_>>().join("\n")
}

/// What stands in backticks and is a test: `file::function`.
fn tests_in(text: &str) -> Vec<(&str, &str)> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte)))
        .filter_map(|code| code.split_once("::"))
        .filter(|(file, _)| ["workflow_", "laws_", "typed_"].iter().any(|group| file.starts_with(group)))
        .collect()
}

fn is_test(file: &str, function: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file).with_extension("rs");
    let text = fs::read_to_string(path).unwrap_or_default();
    let before = ["async fn", "fn"].iter().find_map(|word| text.split_once(&format!("\n{word} {function}() {{")));
    before.is_some_and(|(before, _)| before.lines().last().is_some_and(|line| line.contains("test]") || line.contains("test(")))
}

#[test]
fn every_answer_names_a_test_and_every_test_it_names_is_there() {
    let page = page();
    let answers: Vec<_> = page.split("\n- **").skip(1).collect();
    assert!(answers.len() > 40, "{} answers", answers.len());
    for answer in answers {
        let answer = answer.split("\n\n").next().unwrap();
        let tests = tests_in(answer);
        assert!(!tests.is_empty(), "no test is named by: {answer}");
        for (file, function) in tests {
            assert!(is_test(file, function), "there is no test `{function}` in tests/tests/{file}.rs");
        }
    }
    assert!(!is_test("workflow_time", "no_such_test"));
}
