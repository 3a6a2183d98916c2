//! What the SQLite store does when the file, the disk or a neighbour fails. The cases that every store shares
//! are in `conformance.rs`.

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
