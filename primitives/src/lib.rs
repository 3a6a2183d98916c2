//! Typed, durable building blocks for Rust that stand without a server.
//!
//! This crate is where application authors begin. The kernel below it is complete and re-exported as
//! [`runtime`]: one durable entity per key, pure turns, one commit each. The typed primitives are built on it.
//!
//! ```
//! use drystone::d;
//!
//! assert_eq!(d!("1h 30m"), std::time::Duration::from_secs(5_400));
//! ```

pub use drystone_macros::d;
pub use drystone_runtime as runtime;
