//! The judge: it compares the promises with the files.

pub(crate) mod answered;
pub(crate) mod doubt;
pub(crate) mod evidence;
pub(crate) mod fate;
pub(crate) mod footprint;
pub(crate) mod guilt;
pub(crate) mod heard;
pub(crate) mod proof;
pub(crate) mod said;
pub(crate) mod verdict;
