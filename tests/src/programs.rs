//! The sources of the test programs under `tests/tests`, for tests that check references to tests.
//!
//! A test program is a single file, or a folder whose first file is `main.rs`.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Returns the path of a program's first file in `tests`, such as `tests/docs.rs` or `tests/topics/main.rs`.
pub fn first_file(program: &str) -> String {
    if tests().join(program).is_dir() { format!("tests/{program}/main.rs") } else { format!("tests/{program}.rs") }
}

/// Returns the texts of a program's source files. An unknown program has none.
pub fn sources(program: &str) -> Vec<String> {
    let single = [tests().join(program).with_extension("rs")];
    let files = match fs::read_dir(tests().join(program)) {
        Ok(folder) => folder.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => single.to_vec(),
    };
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
}
