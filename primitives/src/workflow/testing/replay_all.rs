//! A folder of recorded histories, run against today's code.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::workflow::{History, ReplayError, Workflow, replay};

/// [Replays](replay) every history of a folder, and returns how many there were. This is the one line of a
/// test suite that finds a code change at which running work would stop (R5).
///
/// ```no_run
/// # use drystone::{Flow, workflow};
/// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Checkout;
/// # #[workflow] impl Checkout { async fn run(flow: &Flow<Self>) {} }
/// // #[test]
/// // fn running_checkouts_go_on_with_this_code() {
/// drystone::testing::replay_all::<Checkout>("tests/histories/checkout").unwrap();
/// # // }
/// ```
///
/// A folder holds the histories of one workflow, as [`History::save`] wrote them, under any file names. The
/// error lists every file that does not fit, with the reason. Nothing is skipped silently: a file without a
/// history, a history of another workflow than the first, a subfolder, a missing folder and an empty folder
/// are errors, too. Only names that begin with a dot are ignored. A relative path begins where tests run:
/// at the package's `Cargo.toml`.
pub fn replay_all<W: Workflow>(folder: impl AsRef<Path>) -> Result<usize, ReplayAllError> {
    let folder = folder.as_ref();
    let failed = |files| ReplayAllError { folder: folder.to_owned(), files };
    let paths =
        listed(folder).map_err(|error| failed(vec![(folder.to_owned(), Misfit::Unreadable(error.to_string()))]))?;
    if paths.is_empty() {
        return Err(failed(vec![(folder.to_owned(), Misfit::Empty)]));
    }
    let mut workflow = None;
    let tried = paths.iter().filter_map(|path| Some((path.clone(), tried::<W>(path, &mut workflow).err()?)));
    let misfits: Vec<_> = tried.collect();
    if misfits.is_empty() { Ok(paths.len()) } else { Err(failed(misfits)) }
}

/// The contents of a folder, sorted by name.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(folder)?.collect();
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let mut paths: Vec<PathBuf> = entries?.iter().filter(|entry| !is_hidden(entry)).map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// Replays one file; `workflow` is the name of the first history's workflow.
fn tried<W: Workflow>(path: &Path, workflow: &mut Option<String>) -> Result<(), Misfit> {
    if path.is_dir() {
        return Err(Misfit::Folder);
    }
    let history = History::load(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Misfit::NoHistory(error.to_string()),
        _ => Misfit::Unreadable(error.to_string()),
    })?;
    let expected = workflow.get_or_insert_with(|| history.workflow.clone());
    if *expected != history.workflow {
        return Err(Misfit::AnotherWorkflow { expected: expected.clone(), found: history.workflow });
    }
    Ok(replay::<W>(&history)?)
}

/// The files of a folder that do not fit. `{}` and `{:?}` show the same text, which `unwrap` prints in
/// full.
#[derive(Clone)]
pub struct ReplayAllError {
    /// The folder.
    pub folder: PathBuf,
    /// Each file that does not fit, in the order of names; or the folder itself, if that is wrong.
    pub files: Vec<(PathBuf, Misfit)>,
}

/// Why a file does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The code does not fit the history.
    #[error("{0}")]
    Replay(#[from] ReplayError),
    /// The file is not a history.
    #[error("is no history, which `History::save` writes: {0}")]
    NoHistory(String),
    /// The history is of another workflow than the first.
    #[error(
        "is a history of `{found}`, and those before it are of `{expected}`: give each workflow a folder of its own"
    )]
    AnotherWorkflow {
        /// The workflow of the first history.
        expected: String,
        /// The workflow of this history.
        found: String,
    },
    /// The path is a folder.
    #[error("is a folder, and would be passed over: give each workflow a folder of its own, and replay each")]
    Folder,
    /// The path cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The folder is empty.
    #[error("is empty, so nothing was tested: save the `history()` of a run that matters there")]
    Empty,
}

impl fmt::Display for ReplayAllError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of the histories in {} do not fit:", self.files.len(), self.folder.display())?;
        self.files.iter().try_for_each(|(path, misfit)| write!(out, "\n  {}: {misfit}", path.display()))
    }
}

impl fmt::Debug for ReplayAllError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for ReplayAllError {}
