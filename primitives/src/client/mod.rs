//! The caller's side: calls, handles, errors, and the views for people.

pub(crate) mod args;
pub(crate) mod call;
pub mod entities;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod handle;
pub(crate) mod inspect;
pub(crate) mod view;
