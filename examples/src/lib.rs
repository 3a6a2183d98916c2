//! Code shared by the examples: an app with every kind, a kind defined outside Drystone, and a program with
//! two lives.

pub mod app;
pub mod debounce;
mod lives;

pub use lives::{is_first_life, two_lives};
