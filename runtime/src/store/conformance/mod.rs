//! One suite for all stores: it checks what [`Store`](super::Store) promises, case by case (K1).
//!
//! A store runs the suite with one line, [`conformance!`](crate::conformance), which makes one `#[test]` per
//! case. There are no capability flags and no skips. A case is a function in this module; its name is the
//! promise, and its doc names the laws that it proves. No case sleeps: the clock of the store is moved by
//! hand. A store with SQL runs [`sql_conformance!`](crate::sql_conformance) as well.

mod fixture;
mod macros;
mod reading;
mod writing;

pub use self::reading::{hints, hostile, inbox, leases, listing, reopening, scans, sweeps, times};
pub use self::writing::{batches, births, choices, epochs, guards, lanes, remembered, rows, scripts};
pub use fixture::{Clock, Opener, World, run, run_owned};

#[cfg(test)]
mod tests {
    /// K1
    #[test]
    fn every_case_is_on_the_list_that_stores_run() {
        let sources = [
            include_str!("writing/batches.rs"),
            include_str!("writing/births.rs"),
            include_str!("writing/choices.rs"),
            include_str!("writing/epochs.rs"),
            include_str!("writing/guards.rs"),
            include_str!("reading/hints.rs"),
            include_str!("reading/hostile.rs"),
            include_str!("reading/inbox.rs"),
            include_str!("writing/lanes.rs"),
            include_str!("reading/leases.rs"),
            include_str!("reading/listing.rs"),
            include_str!("writing/remembered.rs"),
            include_str!("reading/reopening.rs"),
            include_str!("writing/rows.rs"),
            include_str!("reading/scans.rs"),
            include_str!("writing/scripts.rs"),
            include_str!("reading/sweeps.rs"),
            include_str!("reading/times.rs"),
        ];
        let listed: Vec<&str> =
            include_str!("macros.rs").split(|end: char| end.is_whitespace() || end == ';').collect();
        let cases =
            sources.iter().flat_map(|source| source.lines().filter_map(|line| line.strip_prefix("pub async fn ")));
        let names: Vec<&str> = cases.filter_map(|case| case.split('(').next()).collect();
        assert!(names.len() >= 80, "only {} cases", names.len());
        for name in names {
            assert!(listed.contains(&name), "{name} is not listed in macros.rs");
        }
    }
}
