//! The syntax that both macros read: attributes, functions, parameters and options, with their mistakes.

pub(crate) mod attribute;
pub(crate) mod diagnostics;
pub(crate) mod function;
pub(crate) mod hook_options;
pub(crate) mod kinds;
pub(crate) mod literals;
pub(crate) mod options;
pub(crate) mod parameter;
pub(crate) mod returns;
pub(crate) mod suggest;
pub(crate) mod transaction;
pub(crate) mod types;
pub(crate) mod waiting;
