//! What Drystone and its macros read alike: durations as text, and names that are taken.
//!
//! A crate of macros can share nothing but macros with the library. So the parts that both need are here. This
//! crate is a detail of `drystone`; it makes no promises to anybody else.

pub mod duration;
pub mod names;
