//! The interface of the kernel: handlers and their definitions, calls, views, options, opening and closing.

pub(crate) mod call;
pub(crate) mod cx;
pub(crate) mod handler;
pub(crate) mod lifecycle;
pub(crate) mod options;
pub(crate) mod pending_call;
pub(crate) mod registry;
pub(crate) mod submit;
pub(crate) mod view;
pub(crate) mod weak;
