//! The sources of the workspace as text, for tests that check what they name and import.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a helper of tests panics as a test does")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The folders of the sources that the page describes.
const SOURCES: [&str; 3] = ["runtime/src", "primitives/src", "primitives-macros/src"];

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the text of a file, given its path from the root.
pub fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the Rust files under a folder, as paths from the root.
pub fn files_in(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Returns the sources of the library and its macros, by path.
pub fn sources() -> BTreeMap<String, String> {
    SOURCES.iter().flat_map(|folder| files_in(folder)).map(|path| (path.clone(), text_of(&path))).collect()
}
