//! Checks ARCHITECTURE.md: every name in it exists, and its steps and lines are short.
//!
//! A name in backticks is checked if it is a path, `file::function` or `Type::method`.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::BTreeMap;

use drystone_tests::sources::{root, sources, text_of};

/// The most words of a step of a walk.
const STEP_WORDS_MAX: usize = 15;

/// A name in backticks, with its line and the folders that the headings above it name.
struct Named {
    line: usize,
    folders: Vec<String>,
    name: String,
}

fn in_backticks(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns all names in backticks of a page, without its blocks of code.
fn names_in(page: &str) -> Vec<Named> {
    let (mut folders, mut is_block, mut names) = (Vec::new(), false, Vec::new());
    for (number, line) in page.lines().enumerate() {
        is_block ^= line.starts_with("```");
        if is_block {
            continue;
        }
        if line.starts_with('#') {
            folders = in_backticks(line).filter(|name| name.ends_with('/')).map(str::to_owned).collect();
        }
        names.extend(in_backticks(line).map(|name| Named {
            line: number + 1,
            folders: folders.clone(),
            name: name.to_owned(),
        }));
    }
    names
}

fn is_path(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
    is_plain && (name.ends_with('/') || [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end)))
}

/// Whether a path exists, from the root or from one of the folders.
fn exists(path: &str, folders: &[String]) -> bool {
    root().join(path).exists() || folders.iter().any(|folder| root().join(folder).join(path).exists())
}

/// Splits `file::function` or `Type::method`.
fn member(name: &str) -> Option<(&str, &str)> {
    let (owner, member) = name.split_once("::")?;
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_/".contains(&byte));
    (is_name(owner) && is_name(member) && !owner.is_empty() && !member.is_empty()).then_some((owner, member))
}

/// Whether `text` declares a function of this name.
fn declares(text: &str, function: &str) -> bool {
    ["(", "<"].iter().any(|end| text.contains(&format!("fn {function}{end}")))
}

/// Whether a file whose path ends with `file` declares the function. A file `resident/mod.rs` ends with
/// `resident`, too.
fn has_function(sources: &BTreeMap<String, String>, file: &str, function: &str) -> bool {
    let ends = [format!("/{file}.rs"), format!("/{file}/mod.rs")];
    let is_meant = |path: &str| ends.iter().any(|end| path.ends_with(end));
    sources.iter().any(|(path, text)| is_meant(path) && declares(text, function))
}

/// Whether some file declares the type, and some file with an `impl` or the trait declares the method.
fn has_method(sources: &BTreeMap<String, String>, owner: &str, method: &str) -> bool {
    let declarations: Vec<String> = ["struct", "enum", "trait", "type"]
        .iter()
        .flat_map(|word| [" ", "<", "(", ";", ":"].map(|end| format!("{word} {owner}{end}")))
        .collect();
    let is_declared = |text: &String| declarations.iter().any(|declaration| text.contains(declaration));
    let has_impl = |text: &String| {
        let mut blocks = text.lines().filter(|line| line.starts_with("impl"));
        let names = |line: &str| line.split(|at: char| !at.is_alphanumeric() && at != '_').any(|word| word == owner);
        is_declared(text) || blocks.any(names)
    };
    let has_member = |text: &String| {
        declares(text, method) || text.contains(&format!("pub {method}: ")) || text.contains(&format!("    {method}("))
    };
    sources.values().any(is_declared) && sources.values().any(|text| has_impl(text) && has_member(text))
}

/// Returns what is wrong with a name, if it is a path or a member.
fn mistake(sources: &BTreeMap<String, String>, named: &Named) -> Option<String> {
    let name = named.name.as_str();
    if is_path(name) {
        return (!exists(name, &named.folders)).then(|| format!("line {}: there is no `{name}`", named.line));
    }
    let (owner, member) = member(name)?;
    let is_type = owner.starts_with(char::is_uppercase);
    let is_there = if is_type { has_method(sources, owner, member) } else { has_function(sources, owner, member) };
    (!is_there).then(|| format!("line {}: there is no `{name}`", named.line))
}

#[test]
fn every_path_and_function_of_the_architecture_exists() {
    let (sources, names) = (sources(), names_in(&text_of("ARCHITECTURE.md")));
    let checked = names.iter().filter(|named| is_path(&named.name) || member(&named.name).is_some()).count();
    assert!(checked > 200, "{checked} names are checked");
    let mistakes: Vec<_> = names.iter().filter_map(|named| mistake(&sources, named)).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_wrong_name_is_found() {
    let page = "### `runtime/src/model/`\n`key.rs` `kay.rs` `model/key.rs`\n`writer::fly_away` `Handler::turn` `Handler::spin` `Nobody::turn`";
    let (sources, names) = (sources(), names_in(page));
    let mistakes: Vec<_> = names.iter().filter_map(|named| mistake(&sources, named)).collect();
    let wrong = ["2: there is no `kay.rs`", "2: there is no `model/key.rs`", "3: there is no `writer::fly_away`"];
    let types = ["3: there is no `Handler::spin`", "3: there is no `Nobody::turn`"];
    let expected: Vec<_> = wrong.iter().chain(&types).map(|line| format!("line {line}")).collect();
    assert_eq!(mistakes, expected);
}

#[test]
fn the_steps_of_the_walks_are_short_and_the_lines_fit() {
    for page in ["ARCHITECTURE.md", "README.md", "tests/FAILURES.md"] {
        let text = text_of(page);
        let long = text.lines().position(|line| !line.starts_with('|') && line.chars().count() > 120);
        assert_eq!(long.map(|line| line + 1), None, "a line of {page} is longer than 120 columns");
    }
    let page = text_of("ARCHITECTURE.md");
    let walks = page.split("\n## The walks\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let is_step = |line: &&str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let steps: Vec<_> = walks.lines().filter(is_step).collect();
    assert!(steps.len() > 80, "{} steps", steps.len());
    for step in steps {
        let words = step.split_whitespace().skip(1).count();
        assert!(words <= STEP_WORDS_MAX, "{words} words: {step}");
    }
}
