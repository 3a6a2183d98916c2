//! The fate of a process that runs guilty code of the typed app.

use drystone::Services;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The process dies.
    Dies,
    /// The code only fails. The parent reads the file and must survive that.
    Lives,
}

#[derive(Services)]
pub(super) struct Deps {
    pub(super) fate: Fate,
}
