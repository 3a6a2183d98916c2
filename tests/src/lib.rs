//! Programs that prove the kernel.

pub mod crash;
pub mod load;
pub mod sim;
pub mod typed;
pub mod world;

/// Every code block of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
