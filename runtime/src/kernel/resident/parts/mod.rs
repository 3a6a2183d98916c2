//! The parts of a resident entity. Each owns a piece of its memory and keeps the rules of that piece; none of
//! them calls a handler or knows the kernel.

pub(crate) mod admission;
pub(crate) mod callers;
pub(crate) mod chain;
pub(crate) mod commits;
pub(crate) mod inbox;
pub(crate) mod inputs;
pub(crate) mod queue;
pub(crate) mod row_reads;
#[cfg(test)]
mod samples;
pub(crate) mod work_set;
