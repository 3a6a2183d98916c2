//! The names of the time zones, sorted.
//!
//! A macro takes them from jiff's database while this library is compiled, so that a name can be checked at
//! compile time. Cargo builds one jiff for the macro and for this library, so the database that is used at run
//! time has the same names.

/// The names of all time zones.
pub(crate) const NAMES: &[&str] = drystone_macros::__time_zone_names!();
