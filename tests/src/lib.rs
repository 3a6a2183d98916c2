//! Programs that prove the kernel.

mod bell;
pub mod crash;
pub mod held;
pub mod load;
pub mod picture;
mod refuse;
pub mod sim;
pub mod typed;
pub mod world;

/// Every code block of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
