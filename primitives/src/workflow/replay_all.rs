//! A folder of recorded histories, run against today's code.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use super::{History, ReplayError, Workflow, replay};

/// [Replays](replay) every history of a folder: the one line of a test suite that finds a change of the code that running work
/// would stop at (R5). Says how many there were.
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
/// A folder holds the histories of one workflow, as [`History::save`] wrote them, whatever the files are called. Everything that does not fit
/// is told at once, each file with its reason. So is whatever would be passed over in silence: a file that is no history, a history of another workflow than
/// the first one's, a folder within, no folder at all, an empty one. Only what begins with a dot is not looked at. A relative path begins where tests are run: at
/// the package's `Cargo.toml`.
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

/// What lies in a folder, by name.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(folder)?.collect();
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    let mut paths: Vec<PathBuf> = entries?.iter().filter(|entry| !is_hidden(entry)).map(fs::DirEntry::path).collect();
    paths.sort();
    Ok(paths)
}

/// Replays one file; `workflow` is the name that the first history has.
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

/// What does not fit in a folder of histories. Shown the same by `{}` and `{:?}`, so that `unwrap` says it in full.
#[derive(Clone)]
pub struct ReplayAllError {
    /// The folder.
    pub folder: PathBuf,
    /// Each file that does not fit, in the order of their names; the folder itself, if that is what is wrong.
    pub files: Vec<(PathBuf, Misfit)>,
}

/// Why a file does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// Today's code and it part.
    #[error("{0}")]
    Replay(#[from] ReplayError),
    /// It is something else.
    #[error("is no history, which `History::save` writes: {0}")]
    NoHistory(String),
    /// It is of another workflow than the first.
    #[error(
        "is a history of `{found}`, and those before it are of `{expected}`: give each workflow a folder of its own"
    )]
    AnotherWorkflow {
        /// What the first is of.
        expected: String,
        /// What this is of.
        found: String,
    },
    /// It is a folder.
    #[error("is a folder, and would be passed over: give each workflow a folder of its own, and replay each")]
    Folder,
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// Nothing is in it.
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
