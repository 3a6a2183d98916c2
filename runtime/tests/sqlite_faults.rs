//! The SQLite store when the file or the disk fails, or another process interferes. The cases that all stores
//! share are in `conformance.rs`.

#![expect(clippy::unwrap_used, reason = "what tests share is test code, too")]

mod faults {
    mod child;
    mod damage;
    mod engine;
    mod files;
    mod full;
    mod log;
    mod neighbours;
}
