//! How often guilty code kills its process: a few times, then it is mended. Nothing is ever held in a campaign, for the parent's
//! kills acquit whatever is held back.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use drystone_runtime::Options;

/// How often each guilty one kills.
pub(super) const KILLS_MAX: usize = 4;

/// What a child opens its files with. Lives are short here: a suspect is held back and watched for as short a time.
pub(super) fn options(options: &mut Options) {
    options.probation = Duration::from_millis(50);
}

/// Where kills are written down. In the parent there is no such file, and nobody kills.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Kills are written down beside this file from now on.
pub(super) fn remember_beside(file: &Path) {
    FILE.get_or_init(|| file.with_extension("kills"));
}

/// Kills the process, if this one has not killed too often.
pub(super) fn kill(who: &str) {
    let Some(file) = FILE.get() else { return };
    let kills = fs::read_to_string(file).unwrap_or_default().lines().filter(|line| *line == who).count();
    let opened = OpenOptions::new().create(true).append(true).open(file);
    if kills < KILLS_MAX && opened.and_then(|mut file| file.write_all(format!("{who}\n").as_bytes())).is_ok() {
        std::process::abort();
    }
}
