//! The fate of a process that runs guilty code of the typed app.

use drystone::Services;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crash) enum Fate {
    /// The process dies.
    Dies,
    /// The code only fails. The parent reads the file and must survive that.
    Lives,
}

#[derive(Services)]
pub(in crate::crash) struct Deps {
    pub(in crate::crash) fate: Fate,
}
