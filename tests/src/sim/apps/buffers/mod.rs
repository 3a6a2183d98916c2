//! Buffers, one for each feature.

pub(crate) mod basket;
pub(crate) mod chest;
pub(crate) mod heap;
pub(crate) mod strict;
