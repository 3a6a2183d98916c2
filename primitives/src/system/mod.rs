//! Our own entities: topics and dead letters.

pub mod dead_letters;
pub(crate) mod halt;
pub mod topics;
