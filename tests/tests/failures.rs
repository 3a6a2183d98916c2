//! Checks that `tests/FAILURES.md` explains the ids of failures, such as `fB13`, that the sources name.

use std::collections::BTreeSet;

use drystone_tests::sources::{files_in, text_of};

/// Ids of failures, such as `fB13`, in a text.
fn failures_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let is_id = |word: &&str| {
        let mut letters = word.chars();
        letters.next() == Some('f')
            && letters.next().is_some_and(|group| ('A'..='H').contains(&group))
            && !letters.as_str().is_empty()
            && letters.as_str().bytes().all(|digit| digit.is_ascii_digit())
    };
    words.filter(is_id).map(str::to_owned).collect()
}

#[test]
fn every_failure_that_the_sources_name_is_explained() {
    let list = text_of("tests/FAILURES.md");
    let explained: BTreeSet<String> =
        list.lines().filter_map(|line| line.strip_prefix("- **")?.split("**").next().map(str::to_owned)).collect();
    let folders = ["runtime", "primitives/src", "primitives-macros/src", "tests/src", "tests/tests", "examples"];
    let files = folders.iter().flat_map(|folder| files_in(folder));
    let others = files.filter(|path| !path.ends_with("tests/failures.rs"));
    let named: BTreeSet<String> = others.flat_map(|path| failures_in(&text_of(&path))).collect();
    assert!(named.len() > 40, "{} failures are named", named.len());
    assert_eq!(named, explained, "tests/FAILURES.md explains what the sources name, and nothing else");
}
