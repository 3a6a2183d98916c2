//! What `#[workflow]` makes of an `impl` block. Generated code implements these traits; nobody else does.

use bytes::Bytes;
use serde::Serialize;

use super::{Core, EventCode, Flow, Options, Policy, UndoCode};
use crate::{
    BoxFuture, Env, Primitive, Transaction,
    primitive::{Action, Running, Thrown},
    stored::{Codec, is_default},
};

/// A workflow: an author's struct with `#[workflow]` on its `impl`. The struct is the state of a run that queries and people
/// see.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    label = "not a workflow",
    note = "write `#[workflow]` on `impl {Self}`"
)]
pub trait Workflow: Primitive {
    /// Its steps, as its body calls them.
    type Steps: From<Core>;

    /// What there is in the `impl` block.
    const SCRIPT: Script;

    /// The options, as the attribute says.
    fn options() -> Options;

    /// How the state is stored.
    fn codec() -> Codec<Self>;

    /// The state that a run begins with.
    fn initial() -> Self;

    /// The body, with the JSON array of its parameters; the reason if they cannot be read.
    fn body(flow: Flow<Self>, input: &[u8]) -> Result<Body, String>;

    /// The `#[cancelled]` body.
    fn cancelled(_flow: Flow<Self>) -> Option<Body> {
        None
    }

    /// Changes the state as an update says, whose parameters are this JSON array: what it answers. It is pure, and cannot wait.
    fn update(&mut self, _name: &str, _input: &[u8]) -> Result<Bytes, Thrown> {
        Err(Thrown::Unknown)
    }

    /// Whether an error of a step is worth another attempt: `retry_if`.
    fn is_worth_retrying(_step: &str, _error: &[u8]) -> bool {
        true
    }
}

/// A body under way: what it returned, as JSON.
pub type Body = BoxFuture<'static, Result<Bytes, Thrown>>;

/// The code of a workflow that acts, run with the services `D` as a part of the app `A`.
pub trait Flows<D, A>: Workflow {
    /// Runs a step, with the JSON array of its parameters.
    fn step<'a>(name: &'a str, input: Bytes, env: &'a Env<D, A>) -> Running<'a>;

    /// The primitives that its body calls: the types, and the names that the app has for them.
    fn clients() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Runs a transactional step, with the JSON array of its parameters.
    fn transact(_step: &str, _input: Bytes, _sql: &mut Transaction<'_>) -> Result<Bytes, Thrown> {
        Err(Thrown::Unknown)
    }

    /// Runs a query on the stored state.
    fn query<'a>(&'a self, name: &'a str, input: Bytes, env: &'a Env<D, A>) -> Running<'a>;
}

/// The names in an `impl` block with `#[workflow]`, and what each needs.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// Its steps.
    pub steps: &'static [StepCode],
    /// The author's queries: `&self`.
    pub queries: &'static [Action],
    /// The events that it accepts.
    pub events: &'static [EventCode],
    /// Whether there is a `#[cancelled]` body.
    pub has_cancelled: bool,
    /// A hash of the block: if it is another, runs that this code could not go on with are tried again.
    pub hash: u64,
    /// The author's updates: `&mut self`.
    pub updates: &'static [&'static str],
}

/// A step of the author's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StepCode {
    /// Its name.
    pub name: &'static str,
    /// How it is tried.
    pub policy: Policy,
    /// What undoes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoCode>,
    /// Whether it takes a heartbeat.
    #[serde(skip_serializing_if = "is_default")]
    pub beats: bool,
    /// Whether it writes tables of the author's, in a transaction (W6).
    #[serde(skip_serializing_if = "is_default")]
    pub transaction: bool,
}
