//! The cases about writes.

pub mod batches;
pub mod births;
pub mod choices;
pub mod epochs;
pub mod guards;
pub mod lanes;
pub mod remembered;
pub mod rows;
pub mod scripts;
