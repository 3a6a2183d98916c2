//! What the docs name is there.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The page, without the marks of its comments.
fn page() -> String {
    let text = fs::read_to_string(root().join("primitives/src/workflow/what_happens_when.rs")).unwrap();
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
    before.is_some_and(|(before, _)| {
        before.lines().last().is_some_and(|line| line.contains("test]") || line.contains("test("))
    })
}

/// Whether a link leads from the folder of the page, in `target/doc` of a checkout, to the file of tests.
fn is_linked(page: &str, file: &str) -> bool {
    let folder = root().join("target/doc/drystone/workflow/what_happens_when");
    let up = folder.strip_prefix(root()).unwrap().iter().map(|_| "..").collect::<PathBuf>();
    page.contains(&format!("[{file}]: {}", up.join("tests/tests").join(file).with_extension("rs").display()))
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
            assert!(answer.contains(&format!("[`{file}::{function}`][{file}]")), "no link to `{function}`: {answer}");
            assert!(is_linked(&page, file), "no link to tests/tests/{file}.rs");
        }
    }
    assert!(!is_test("workflow_time", "no_such_test"));
}

/// The ids of all laws: `E1` of `- E1 One entity per key.`
fn laws() -> Vec<String> {
    let text = fs::read_to_string(root().join("LAWS.md")).unwrap();
    let ids = text.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(' '));
    ids.map(|(id, _)| id.to_owned()).collect()
}

/// All that tests say of themselves in the sources under a folder: the line above each of them.
fn said_of_tests(folder: &Path, said: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            said_of_tests(&path, said);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines: Vec<_> = text.lines().map(str::trim).collect();
            let tests = lines.windows(2).filter(|pair| pair[1].starts_with("#[") && pair[1].contains("test"));
            said.extend(tests.filter_map(|pair| pair[0].strip_prefix("///").map(str::to_owned)));
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
    let bare: Vec<_> = laws.iter().filter(|id| !words.contains(&id.as_str())).collect();
    assert!(bare.is_empty(), "no test carries {bare:?}");
}
