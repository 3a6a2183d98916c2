//! The parts of a campaign. Each part keeps one feature of the library busy.

pub(crate) mod counter;
pub(crate) mod hooks;
pub(crate) mod outbox;
pub(crate) mod part;
pub(crate) mod permits;
pub(crate) mod pieces;
pub(crate) mod rest;
pub(crate) mod retire;
pub(crate) mod runs;
pub(crate) mod topics;
pub(crate) mod typed;
