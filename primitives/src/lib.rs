//! Typed, durable building blocks for Rust that stand without a server.
//!
//! The typed layer is being built on the kernel, which is re-exported here as [`runtime`].

pub use drystone_runtime as runtime;
