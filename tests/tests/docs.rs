//! Checks that everything the docs refer to exists.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use drystone_tests::programs::{first_file, sources};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of the page without its comment markers.
fn page() -> String {
    let text = fs::read_to_string(root().join("primitives/src/workflow/what_happens_when.rs")).unwrap();
    text.lines().map(|line| line.trim_start_matches("//!").trim()).collect::<Vec<_>>().join("\n")
}

/// The names of tests in backticks, in the form `program::function`.
fn tests_in(text: &str) -> Vec<(&str, &str)> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte)))
        .filter_map(|code| code.split_once("::"))
        .filter(|(file, _)| ["workflow_", "laws_", "typed_"].iter().any(|group| file.starts_with(group)))
        .collect()
}

fn is_test(program: &str, function: &str) -> bool {
    sources(program).iter().any(|text| {
        let before = ["async fn", "fn"].iter().find_map(|word| text.split_once(&format!("\n{word} {function}() {{")));
        before.is_some_and(|(before, _)| {
            before.lines().last().is_some_and(|line| line.contains("test]") || line.contains("test("))
        })
    })
}

/// Whether a link of the page, followed from its folder in `target/doc` of a checkout, leads to the program
/// of tests.
fn is_linked(page: &str, program: &str) -> bool {
    let folder = root().join("target/doc/drystone/workflow/what_happens_when");
    let up = folder.strip_prefix(root()).unwrap().iter().map(|_| "..").collect::<PathBuf>();
    page.contains(&format!("[{program}]: {}", up.join("tests").join(first_file(program)).display()))
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
            assert!(is_test(file, function), "there is no test `{function}` in tests/{}", first_file(file));
            assert!(answer.contains(&format!("[`{file}::{function}`][{file}]")), "no link to `{function}`: {answer}");
            assert!(is_linked(&page, file), "no link to tests/{}", first_file(file));
        }
    }
    assert!(!is_test("workflow_time", "no_such_test"));
}

#[test]
fn every_test_that_the_page_of_events_names_is_there() {
    let page = fs::read_to_string(root().join("primitives/src/system/topics/which_event_goes_where.rs")).unwrap();
    let code = page.split('`').skip(1).step_by(2).filter(|code| !code.contains([' ', '<', '(']));
    let tests: Vec<_> = code
        .filter_map(|code| code.split_once("::"))
        .filter(|(file, _)| file.starts_with(char::is_lowercase))
        .collect();
    assert!(tests.len() >= 12, "{} tests are named", tests.len());
    for (file, function) in tests {
        assert!(is_test(file, function), "there is no test `{function}` in tests/tests/{file}.rs");
    }
}

/// The laws in order: for each the text after `### `, up to the next heading.
fn laws() -> Vec<String> {
    let text = fs::read_to_string(root().join("LAWS.md")).unwrap();
    let parts = text.split("\n### ").skip(1);
    parts.map(|part| part.split("\n## ").next().unwrap().to_owned()).collect()
}

/// `W2.1` of `W2.1 Control and trial`.
fn id(law: &str) -> &str {
    law.split_whitespace().next().unwrap()
}

/// `W2` of `W2.1`: a test carries the id of the whole law.
fn whole(id: &str) -> &str {
    id.split('.').next().unwrap()
}

fn is_word(token: &str) -> bool {
    token.contains(char::is_alphanumeric)
}

#[test]
fn every_law_is_a_promise_of_at_most_eighty_words() {
    for law in laws() {
        let words = law.split_whitespace().filter(|token| is_word(token)).count();
        assert!(words <= 80, "{} has {words} words", id(&law));
        let promise = law.lines().nth(1).unwrap_or_default();
        assert!(promise.starts_with(|letter: char| !"-#".contains(letter)), "{} has no promise", id(&law));
    }
}

#[test]
fn every_part_of_a_law_follows_its_law() {
    let laws = laws();
    let ids: Vec<_> = laws.iter().map(|law| id(law)).collect();
    for pair in ids.windows(2).filter(|pair| pair[1].contains('.')) {
        assert_eq!(whole(pair[0]), whole(pair[1]), "{} does not follow its law", pair[1]);
    }
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "an id stands twice");
}

#[test]
fn no_line_of_the_lists_is_longer_than_120_columns() {
    for file in ["LAWS.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let long = text.lines().position(|line| line.chars().count() > 120);
        assert_eq!(long.map(|line| line + 1), None, "a line of {file} is longer than 120 columns");
    }
}

/// Collects the doc comment of each test in the sources under a folder.
fn said_of_tests(folder: &Path, said: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            said_of_tests(&path, said);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            let is_test = |line: &str| line.starts_with("#[") && line.contains("test");
            let tests = (0..lines.len()).filter(|index| is_test(lines[*index]));
            for test in tests {
                let comment = lines[..test].iter().rev().map_while(|line| line.strip_prefix("///"));
                said.extend(comment.map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_law_is_carried_by_a_test() {
    let mut said = Vec::new();
    for folder in ["tests/tests", "tests/src", "runtime/src", "runtime/tests", "primitives/src"] {
        said_of_tests(&root().join(folder), &mut said);
    }
    let words: Vec<_> = said.iter().flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric())).collect();
    let laws = laws();
    assert!(laws.len() > 100, "{} laws", laws.len());
    let bare: Vec<_> = laws.iter().map(|law| id(law)).filter(|id| !words.contains(&whole(id))).collect();
    assert!(bare.is_empty(), "no test carries {bare:?}");
}
