//! The kernel of Drystone: one durable entity per key, pure turns, one commit each.
//!
//! The crate `drystone` is built on `drystone-runtime`. The kernel knows keys, bytes, turns, commits, alarms,
//! work, leases and stores. It knows no kind of primitive, no type of an author, and no text format.
//! Application authors use `drystone`; authors of new kinds and of new stores use the traits here:
//! [`Handler`] and [`Store`].
//!
//! There are three main terms. A **turn** is pure and synchronous, and results in one [`Commit`]. **Work** is
//! the author's code: the kernel derives it from the stored entity, and the end of the work is an input. A
//! **store** applies batches of commits and knows nothing else.

pub mod driver;
mod error;
pub mod kernel;
mod model;
mod planted;
pub mod store;

pub use driver::Driver;
pub use error::{Error, Limit};
pub use kernel::api::{
    cx::Cx,
    handler::{Handler, Needed, Next},
    registry::{Definition, Registry},
};
pub use kernel::{Call, Kernel, Options};
pub use model::*;
pub use store::Store;

#[cfg(feature = "planted")]
pub use planted::{Bug, plant};
