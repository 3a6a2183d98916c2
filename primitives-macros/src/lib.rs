//! The macros of Drystone. Use them through the `drystone` crate.
