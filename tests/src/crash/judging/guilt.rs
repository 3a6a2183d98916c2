//! Guilty code, which kills its process a few times and is mended then. Nothing is ever held in a campaign,
//! because the parent's kills acquit every suspect that is held back.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use drystone_runtime::Options;

/// How often each guilty piece of code kills.
pub(in crate::crash) const KILLS_MAX: usize = 4;

/// Sets the options of a child's kernels. Lives are short, so suspects are held back and watched for a short
/// time only.
pub(in crate::crash) fn options(options: &mut Options) {
    options.probation = Duration::from_millis(50);
}

/// The file that counts the kills. It is not set in the parent, where guilty code must not kill.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Counts kills in a file next to this one from now on.
pub(in crate::crash) fn remember_beside(file: &Path) {
    FILE.get_or_init(|| file.with_extension("kills"));
}

/// Kills the process, unless `who` has killed often enough.
pub(in crate::crash) fn kill(who: &str) {
    let Some(file) = FILE.get() else { return };
    let kills = fs::read_to_string(file).unwrap_or_default().lines().filter(|line| *line == who).count();
    let opened = OpenOptions::new().create(true).append(true).open(file);
    if kills < KILLS_MAX && opened.and_then(|mut file| file.write_all(format!("{who}\n").as_bytes())).is_ok() {
        std::process::abort();
    }
}
