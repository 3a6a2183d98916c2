//! What a program was built from, as far as a running one can tell.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
};

/// A number for the file of this program, by its length and the time of its last change: another build has another one. 0 if the
/// system does not tell.
pub(crate) fn of_this_program() -> u64 {
    let file = env::current_exe().and_then(fs::metadata);
    let Ok((length, Ok(changed))) = file.map(|file| (file.len(), file.modified())) else { return 0 };
    let mut hasher = DefaultHasher::new();
    (length, changed).hash(&mut hasher);
    hasher.finish()
}
