//! The operations that a body waits for, as the record of the run stores them.

use drystone_runtime::Millis;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    Failure,
    values::stored::is_default,
    workflow::{
        Policy,
        body::call::KeyText,
        client::status::WaitsFor,
        replay::{
            ask::{Ask, Until},
            op_id::OpId,
        },
    },
};

/// An operation that the body waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Pending {
    pub(in crate::workflow) op: OpId,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) hash: u64,
    pub(in crate::workflow) what: Waiting,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum Waiting {
    /// A step, or code of the body (`flow.run`).
    Step(Stepping),
    /// A sleep, until this time.
    Sleep(i64),
    /// A wait for events.
    Event(Awaited),
    /// The end of a child.
    Child(Childing),
    /// A wait for a condition on the run's own state.
    Until,
}

/// A child that the body waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Childing {
    pub(in crate::workflow) definition: String,
    pub(in crate::workflow) key: KeyText,
    /// The input of the child, until the child begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) input: Option<Code>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) is_abandoned: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) is_detached: bool,
}

/// A pending step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Stepping {
    pub(in crate::workflow) code: Code,
    /// The number of the next attempt, or of the attempt under way.
    pub(in crate::workflow) attempt: u32,
    /// When the body asked for the step.
    pub(in crate::workflow) since: i64,
    /// The earliest time of the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) retry_at: Option<i64>,
    /// The error of the attempt before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) error: Option<Failure>,
    /// Whether the outcome of an earlier attempt is unknown: it timed out, panicked or was silent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) is_unsure: bool,
    /// Whether a row says that the step is waited for. Only a transactional step has
    /// such a row: the transaction runs only while the row exists.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) claimed: bool,
    /// Why the input could not be read back when the step was asked for. Such a step is not executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) unreadable: Option<String>,
}

impl Stepping {
    /// A step before its first attempt.
    pub(in crate::workflow) fn new(code: Code, since: Millis) -> Self {
        Self {
            code,
            attempt: 1,
            since: since.0,
            retry_at: None,
            error: None,
            is_unsure: false,
            claimed: false,
            unreadable: None,
        }
    }
}

/// The code that a step runs, and where its input lies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum Code {
    /// A function with this input.
    Input(Box<RawValue>),
    /// A function whose input lies in a row of its own.
    Row(u64),
    /// A function whose input is a part of a shared row.
    Part(Part),
    /// Code that only the body can make (`flow.run`).
    Body(Policy),
}

/// An input that shares a row with further inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workflow) struct Part {
    pub(in crate::workflow) row: u64,
    pub(in crate::workflow) from: u32,
    pub(in crate::workflow) bytes: u32,
    /// Whether the row stays as long as the generation, because an undo may need a part of it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) stays: bool,
}

/// A pending wait for events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Awaited {
    pub(in crate::workflow) event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) key: Option<String>,
    pub(in crate::workflow) count: u32,
    /// The deadline, and its distance from the beginning of the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) until: Option<(i64, u64)>,
    /// The state of the wait at its topic, if the event has a topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) watching: Option<Watching>,
}

/// The part of a wait that concerns its topic.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct Watching {
    /// When the wait began.
    pub(in crate::workflow) since: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) stage: Stage,
    /// Whether the wait got an event of the topic and needs more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(in crate::workflow) has_got: bool,
}

/// The state of a wait at its topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum Stage {
    /// The topic does not know of the wait.
    #[default]
    Asked,
    /// The topic lists the wait among its watchers.
    Watched,
    /// The deadline has passed, and the wait asks its topic whether an event was published before.
    Leaving,
    /// The topic answered that no event was.
    Left,
}

impl Pending {
    /// The pending operation for a request, with the deadline that follows from the time of the request.
    pub(in crate::workflow) fn of(op: &OpId, ask: &Ask, code: Option<Code>, now: Millis) -> Self {
        let what = match ask {
            Ask::Step { .. } | Ask::Code { .. } | Ask::Call(_) | Ask::Permit(_) => {
                let code = code.expect("a step has something to run");
                let unreadable = if let Ask::Step { unreadable, .. } = ask { unreadable.clone() } else { None };
                Waiting::Step(Stepping { unreadable, ..Stepping::new(code, now) })
            }
            Ask::Sleep(Until::After(span)) => Waiting::Sleep(now.after(*span).0),
            Ask::Sleep(Until::At(time)) => Waiting::Sleep(time.0),
            Ask::Wait(wanted) => {
                let until = wanted.timeout.map(|span| {
                    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
                    (now.after(span).0, millis)
                });
                let (event, key, count) = (wanted.event.to_owned(), wanted.key.clone(), wanted.count);
                let watching =
                    wanted.is_published.then_some(Watching { since: now.0, stage: Stage::Asked, has_got: false });
                Waiting::Event(Awaited { event, key, count, until, watching })
            }
            Ask::Until => Waiting::Until,
            Ask::Child(_) => unreachable!("a child is waited for by its key"),
        };
        Self { op: op.clone(), hash: ask.hash(), what }
    }

    pub(in crate::workflow) fn step(&self) -> Option<&Stepping> {
        match &self.what {
            Waiting::Step(step) => Some(step),
            _ => None,
        }
    }

    pub(in crate::workflow) fn child(&self) -> Option<&Childing> {
        match &self.what {
            Waiting::Child(childing) => Some(childing),
            _ => None,
        }
    }

    /// When this operation is due by itself, if it ever is.
    pub(in crate::workflow) fn due_at(&self) -> Option<i64> {
        match &self.what {
            Waiting::Step(step) => step.retry_at,
            Waiting::Sleep(until) => Some(*until),
            Waiting::Event(awaited) if self.stage() == Some(Stage::Leaving) && awaited.until.is_some() => None,
            Waiting::Event(awaited) => awaited.until.map(|(until, _)| until),
            Waiting::Child(_) | Waiting::Until => None,
        }
    }

    /// The deadline of a wait that has timed out and asks its topic whether an event was published before.
    pub(in crate::workflow) fn leaves_since(&self) -> Option<i64> {
        match &self.what {
            Waiting::Event(awaited) if self.stage() == Some(Stage::Leaving) => awaited.until.map(|(until, _)| until),
            _ => None,
        }
    }

    /// The state of a wait at its topic, if it has a topic.
    pub(in crate::workflow) fn stage(&self) -> Option<Stage> {
        match &self.what {
            Waiting::Event(awaited) => awaited.watching.as_ref().map(|watching| watching.stage),
            _ => None,
        }
    }

    pub(in crate::workflow) fn shown(&self) -> WaitsFor {
        let step = self.step();
        WaitsFor {
            operation: self.op.to_string(),
            until: self.due_at().map(crate::Timestamp::from_millis),
            attempt: step.map(|step| step.attempt),
            last_error: step.and_then(|step| step.error.clone()),
        }
    }
}
