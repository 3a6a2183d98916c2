//! Tells builds of a program apart.

use std::{
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Returns a number for the file of this program, made from the file's length and time of change, so
/// that another build has another number. Returns 0 if the system does not tell.
pub(crate) fn of_this_program() -> u64 {
    let file = env::current_exe().and_then(fs::metadata);
    let Ok((length, Ok(changed))) = file.map(|file| (file.len(), file.modified())) else { return 0 };
    let mut hasher = DefaultHasher::new();
    (length, changed).hash(&mut hasher);
    hasher.finish()
}
