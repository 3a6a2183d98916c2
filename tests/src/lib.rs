//! Programs that prove the kernel, and what the tests share.

#[cfg(any(feature = "crash", feature = "load"))]
mod bell;
#[cfg(feature = "crash")]
pub mod crash;
pub mod held;
#[cfg(feature = "load")]
pub mod load;
pub mod log_lines;
pub mod programs;
#[cfg(any(feature = "crash", feature = "load"))]
mod refuse;
#[cfg(feature = "sim")]
pub mod sim;
pub mod sources;
pub mod typed;
pub mod world;

/// Checks that every code block of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
