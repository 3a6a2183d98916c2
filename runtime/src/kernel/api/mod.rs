//! The interface of the kernel: calls, views, options, opening and closing.

pub(crate) mod call;
pub(crate) mod lifecycle;
pub(crate) mod options;
pub(crate) mod pending_call;
pub(crate) mod submit;
pub(crate) mod view;
pub(crate) mod weak;
