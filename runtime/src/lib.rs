//! The kernel of Drystone: one durable entity per key, pure turns, one commit each.
//!
//! This crate is what `drystone` stands on. It knows keys, bytes, turns, commits, alarms, work, leases and
//! stores; it knows no kind of primitive, no type of an author's and no text format. Application authors use
//! `drystone`; authors of new kinds and of new stores use the traits here: [`Handler`] and [`Store`].
//!
//! Three nouns carry it. A **turn** is pure and synchronous and gives one [`Commit`]. **Work** is the author's
//! code: it follows from what is stored, and its end is an input. A **store** applies batches of commits and
//! knows nothing else.

pub mod driver;
mod error;
pub mod kernel;
mod model;
mod planted;
pub mod store;

pub use driver::Driver;
pub use error::{Error, Limit};
pub use kernel::{Call, Kernel, Options};
pub use model::*;
pub use store::Store;

#[cfg(feature = "planted")]
pub use planted::{Bug, plant};
