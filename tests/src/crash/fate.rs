//! What becomes of a process in which guilty code of a typed app runs.

use drystone::Services;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It dies.
    Dies,
    /// It fails: the parent reads the file, and must outlive that.
    Lives,
}

#[derive(Services)]
pub(super) struct Deps {
    pub(super) fate: Fate,
}
