//! What the examples share: an app with every kind, a kind that is not ours, and a program with two lives.

pub mod app;
pub mod debounce;
mod lives;

pub use lives::{is_first_life, two_lives};
