//! One suite for all stores: it checks what [`Store`](super::Store) promises, case by case (K1).
//!
//! A store runs the suite with one line, [`conformance!`](crate::conformance), which makes one `#[test]` per
//! case. There are no capability flags and no skips. A case is a function in this module; its name is the
//! promise, and its doc names the laws that it proves. No case sleeps: the clock of the store is moved by
//! hand. A store with SQL runs [`sql_conformance!`](crate::sql_conformance) as well.

pub mod batches;
pub mod births;
pub mod choices;
pub mod epochs;
mod fixture;
pub mod guards;
pub mod hints;
pub mod hostile;
pub mod inbox;
pub mod lanes;
pub mod leases;
pub mod listing;
mod macros;
pub mod remembered;
pub mod reopening;
pub mod rows;
pub mod scans;
pub mod scripts;
pub mod sweeps;
pub mod times;

pub use fixture::{Clock, Opener, World, run, run_owned};

#[cfg(test)]
mod tests {
    /// K1
    #[test]
    fn every_case_is_on_the_list_that_stores_run() {
        let sources = [
            include_str!("batches.rs"),
            include_str!("births.rs"),
            include_str!("choices.rs"),
            include_str!("epochs.rs"),
            include_str!("guards.rs"),
            include_str!("hints.rs"),
            include_str!("hostile.rs"),
            include_str!("inbox.rs"),
            include_str!("lanes.rs"),
            include_str!("leases.rs"),
            include_str!("listing.rs"),
            include_str!("remembered.rs"),
            include_str!("reopening.rs"),
            include_str!("rows.rs"),
            include_str!("scans.rs"),
            include_str!("scripts.rs"),
            include_str!("sweeps.rs"),
            include_str!("times.rs"),
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
