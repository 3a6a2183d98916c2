//! The traits that `#[workflow]` implements for an `impl` block. Only generated code implements them.

use bytes::Bytes;
use serde::Serialize;

use crate::{
    BoxFuture, Env, Primitive, Transaction,
    primitive::{Action, Running, Thrown},
    values::stored::{Codec, is_default},
    workflow::{Core, EventCode, Flow, Options, Policy, UndoCode},
};

/// A workflow: an author's struct with `#[workflow]` on its `impl`. The struct is the state of a run that
/// queries and people see.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    label = "not a workflow",
    note = "write `#[workflow]` on `impl {Self}`"
)]
pub trait Workflow: Primitive {
    /// The steps, as the body calls them.
    type Steps: From<Core>;

    /// The contents of the `impl` block.
    const SCRIPT: Script;

    /// The options in the attribute.
    fn options() -> Options;

    /// How the state is stored.
    fn codec() -> Codec<Self>;

    /// The state that a run begins with.
    fn initial() -> Self;

    /// Makes the body, from the JSON array of its parameters. The error says why they cannot be read.
    fn body(flow: Flow<Self>, input: &[u8]) -> Result<Body, String>;

    /// Makes the `#[cancelled]` body; `None` if the workflow has no such body.
    fn cancelled(_flow: Flow<Self>) -> Option<Body> {
        None
    }

    /// Applies an update to the state, with the JSON array of its parameters, and returns the answer. An
    /// update is pure and cannot wait.
    fn update(&mut self, _name: &str, _input: &[u8]) -> Result<Bytes, Thrown> {
        Err(Thrown::Unknown)
    }

    /// Whether an error of a step is worth another attempt: `retry_if`.
    fn is_worth_retrying(_step: &str, _error: &[u8]) -> bool {
        true
    }
}

/// A running body. Its output is the return value as JSON.
pub type Body = BoxFuture<'static, Result<Bytes, Thrown>>;

/// The code of a workflow that runs with the services `D`, as a part of the app `A`.
pub trait Flows<D, A>: Workflow {
    /// Runs a step, with the JSON array of its parameters.
    fn step<'a>(name: &'a str, input: Bytes, env: &'a Env<D, A>) -> Running<'a>;

    /// The primitives that the body calls: their types, and their names in the app.
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

/// The functions and events of an `impl` block with `#[workflow]`.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// The steps.
    pub steps: &'static [StepCode],
    /// The author's queries: functions with `&self`.
    pub queries: &'static [Action],
    /// The events that the workflow accepts.
    pub events: &'static [EventCode],
    /// Whether there is a `#[cancelled]` body.
    pub has_cancelled: bool,
    /// A hash of the block. If it changes, stopped runs are tried again.
    pub hash: u64,
    /// The author's updates: functions with `&mut self`.
    pub updates: &'static [&'static str],
}

/// A step of the workflow.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StepCode {
    /// The name of the step.
    pub name: &'static str,
    /// The retry policy.
    pub policy: Policy,
    /// The undo of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoCode>,
    /// Whether the step takes a heartbeat.
    #[serde(skip_serializing_if = "is_default")]
    pub beats: bool,
    /// Whether the step writes the author's tables in a transaction (W6).
    #[serde(skip_serializing_if = "is_default")]
    pub transaction: bool,
}
