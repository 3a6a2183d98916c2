//! Typed, durable building blocks for Rust that stand without a server.

mod app;
mod args;
mod call;
mod context;
pub mod dead_letters;
mod definitions;
pub mod entities;
mod error;
mod events;
mod failure;
mod handle;
mod handler;
pub mod kind;
pub mod kinds;
pub mod literal;
mod planted;
mod primitive;
mod registrar;
mod retry;
mod schedule;
mod services;
mod stored;
pub mod testing;
mod timestamp;
mod view;

pub use drystone_macros::{Primitives, Services, d, primitive};
pub use drystone_runtime::{self as runtime, Error};

pub use app::{Builder, Runtime, Start};
pub use call::{Call, Calling};
pub use context::Context;
pub use dead_letters::DeadLetters;
pub use entities::Entities;
pub use error::CallError;
pub use events::{Events, LifecycleEvent};
pub use failure::{Failure, Never};
pub use handle::Handle;
pub use kind::Started;
pub use kinds::buffer::{Batch, Folded};
#[cfg(feature = "planted")]
pub use planted::{Bug, plant};
pub use primitive::{Client, PartOf, Primitive, Primitives};
pub use retry::Retry;
pub use schedule::Schedule;
pub use services::Provide;
pub use stored::{Stored, StoredError};
pub use timestamp::Timestamp;
pub use view::{Meta, View};

pub(crate) use args::{Args, Params};
pub(crate) use call::{Address, Desk};
pub(crate) use primitive::{App, Env, Runs};
pub(crate) use registrar::Registrar;
pub(crate) use stored::{decode, encode};

/// What the code that the macros make is written with, and what a kind of one's own names. Authors of apps need nothing of
/// it.
pub mod author {
    pub use bytes::Bytes;

    pub use crate::{
        args::{Args, Params},
        call::{Address, Desk},
        handler::COMMON_VERBS,
        primitive::{
            Action, App, Code, Env, Fallback, Given, HookCode, HookError, Making, Outcome, Probe, Pure, Running, Runs,
            Taken, TakenBy, Thrown, action_ended, fold, hook_ended, made, not_a_verb, nothing, returned, sendable,
            taken,
        },
        registrar::Registrar,
        services::Same,
        stored::{Codec, decode, encode, stored, stored_error},
    };
}
