//! The handle of a run, for its callers.

use std::{fmt, ops::Deref};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::history::HistoryPage;
use crate::{
    Args, Call, CallError, Handle, Never, Timestamp, decode,
    workflow::{EventOf, History, RestartError, Restarted, Restarting, RunStatus, Workflow},
};

/// The verbs of a run of the workflow `W`. The handle that `client.checkout("key")` returns dereferences to
/// this type. `start` and its variants, `result` and `try_result` are methods of the handle itself, because
/// their types depend on the body.
pub struct Verbs<W>(Handle<W>);

impl<W: Workflow> Verbs<W> {
    /// Returns the status of the run; `None` if the key has no run.
    pub fn status(&self) -> Call<Option<RunStatus>> {
        self.0.address().call("status", Args::new())
    }

    /// Returns the stored state; `None` if the key has no run.
    pub fn state(&self) -> Call<Option<W>> {
        Call::new(self.0.address(), "state", Args::new(), state_of::<W>, decode::<Never>)
    }

    /// Sends an event. The event is durable when this answers, and goes to the oldest wait for its type,
    /// now or later (V1, V2).
    #[expect(clippy::needless_pass_by_value, reason = "the event is handed over")]
    pub fn send<V: EventOf<W>>(&self, event: V) -> Call<Sent, SendError> {
        self.0.address().call("send", Args::new().put(&V::NAME.to_owned()).with(V::codec(), &event))
    }

    /// Returns the queued events in order (V12): all of them, read page by page.
    pub async fn events(&self) -> Result<Vec<QueuedEvent>, CallError<Never>> {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = self.events_after(after).await?;
            all.extend(page.events);
            match page.next {
                Some(next) => after = next,
                None => return Ok(all),
            }
        }
    }

    /// Returns the queued events after a number, at most 200, and fewer if they are long. Begin with 0.
    pub fn events_after(&self, number: u64) -> Call<EventsPage> {
        self.0.address().call("events", Args::new().put(&number))
    }

    /// Asks the run to end (L3). Running steps end first, and their outcomes are recorded. The body is
    /// dropped at its await, the due undos run, and then the `#[cancelled]` body runs. Returns `true` once;
    /// `false` if the run was asked before or has ended.
    pub fn cancel(&self) -> Call<bool> {
        self.0.address().call("cancel", Args::new())
    }

    /// Cancels the run without waiting for steps. Running steps are dropped at once, and their outcomes are
    /// unknown: undos that take the step's input are due, as after a lost `select!`. A run that was asked
    /// before by [`cancel`](Self::cancel), and waits for its steps, releases them. Returns `true` if the
    /// run was not asked before, or if it released steps.
    pub fn cancel_abandoning_steps(&self) -> Call<bool> {
        self.0.address().call("cancel_abandoning_steps", Args::new())
    }

    /// Ends the run at once. Running steps are dropped, and no more code of the run is executed. Returns
    /// `false` if the run has ended.
    pub fn terminate(&self) -> Call<bool> {
        self.0.address().call("terminate", Args::new())
    }

    /// Pauses the run (H2). Running steps end, and their outcomes are recorded. No step and no attempt
    /// begins, no timer fires, and events are queued, until [`resume`](Self::resume). Returns `false` if
    /// the run is paused already, has ended or is ending.
    pub fn pause(&self) -> Call<bool> {
        self.0.address().call("pause", Args::new())
    }

    /// Resumes a run that was paused, or stopped because its code panicked or diverged. Timers that passed
    /// during the pause fire now, in their order. Returns `true` if the run was paused or stopped.
    pub fn resume(&self) -> Call<bool> {
        self.0.address().call("resume", Args::new())
    }

    /// Resumes the run. The deadlines of a paused run move by the length of the pause: of sleeps, of waits,
    /// and of the next attempts of steps.
    pub fn resume_shifted(&self) -> Call<bool> {
        self.0.address().call("resume_shifted", Args::new())
    }

    /// Restarts the run with the same input, as a new generation under the same key (L4). A run that has
    /// ended can be restarted, too. The commit removes everything that the old generation recorded, waited
    /// for and ran, and its state. Unread events stay, unless [`drop_events`](Call::drop_events) is set.
    /// Callers that wait for the result of a live run then wait for the result of the new generation.
    pub fn restart(&self) -> Call<Restarted, RestartError> {
        Restarting::anew(self.0.address(), None)
    }

    /// Returns everything that is recorded of the run since its start. The history is of one generation,
    /// also if another begins meanwhile.
    pub async fn history(&self) -> Result<History, CallError<Never>> {
        let mut whole: Option<((u64, u32), History)> = None;
        loop {
            let from = whole.as_ref().map_or(0, |(_, history)| history.entries_count());
            let call: Call<HistoryPage> = self.0.address().call("history", Args::new().put(&from));
            let page = call.await?;
            if whole.take_if(|(of, _)| *of != page.of()).is_some() {
                // The pages read so far are of another generation: begin again.
                continue;
            }
            let is_last = page.is_last();
            let (_, history) = whole.get_or_insert_with(|| (page.of(), page.history()));
            history.extend(page);
            if is_last {
                return Ok(whole.map(|(_, history)| history).unwrap_or_default());
            }
        }
    }
}

/// Reads the answer of `state`, which is empty for an unbound key.
fn state_of<W: Workflow>(bytes: &[u8]) -> Result<Option<W>, String> {
    if bytes.is_empty() { Ok(None) } else { W::codec().read(bytes).map(Some) }
}

/// The verbs that start a run. Generated code uses these for `start` and its variants, with the parameters
/// of the body.
#[derive(Debug)]
pub struct Starting;

impl Starting {
    /// Starts a run. Refused if the key has a run (L2).
    pub fn start<W: Workflow>(handle: &Handle<W>, input: Args) -> Call<(), StartError> {
        handle.address().call("start", input)
    }

    /// Starts a run, or finds the run that was started with the same input.
    pub fn start_or_get<W: Workflow>(handle: &Handle<W>, input: Args) -> Call<Started, StartError> {
        handle.address().call("start_or_get", input)
    }

    /// Starts a run under a new key, which begins with the handle's key, and returns the new key. An
    /// idempotency key has no use here: it belongs to one key, and each call makes another key.
    pub async fn start_new<W: Workflow>(handle: Handle<W>, input: Args) -> Result<String, CallError<StartError>> {
        let desk = handle.address().desk();
        loop {
            let (high, low) = (desk.random()?, desk.random()?);
            let key = format!("{}{high:016x}{low:016x}", String::from_utf8_lossy(handle.key()));
            let address = desk.address(handle.address().definition().to_owned(), &key);
            match Call::<(), StartError>::new(&address, "start", input.clone(), decode, decode).await {
                // Worlds of the test kit draw equal keys, so a kept file may have a run of an earlier world.
                Err(CallError::Failed(StartError::AlreadyExists { .. })) => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(key),
            }
        }
    }

    /// Schedules a key: from now on a run starts at each time of the wall clock. Returns `false` if the key
    /// is scheduled already. Refused if the key has a run.
    #[cfg(feature = "cron")]
    pub fn schedule<W: Workflow>(handle: &Handle<W>) -> Call<bool, StartError> {
        handle.address().call("schedule", Args::new())
    }

    /// Ends the schedule. Existing runs continue. Returns `false` if the key is not scheduled.
    #[cfg(feature = "cron")]
    pub fn unschedule<W: Workflow>(handle: &Handle<W>) -> Call<bool> {
        handle.address().call("unschedule", Args::new())
    }

    /// Returns the status of the schedule; `None` if the key is not scheduled.
    #[cfg(feature = "cron")]
    pub fn schedule_status<W: Workflow>(handle: &Handle<W>) -> Call<Option<crate::workflow::ScheduleStatus>> {
        handle.address().call("schedule_status", Args::new())
    }

    /// Starts a run with an event in its queue, in one commit (V11).
    #[expect(clippy::needless_pass_by_value, reason = "the event is handed over")]
    pub fn start_with<W: Workflow, V: EventOf<W>>(handle: &Handle<W>, input: Args, event: V) -> Call<Sent, StartError> {
        let args = Args::new().put(&raw(input)).put(&V::NAME.to_owned()).with(V::codec(), &event);
        handle.address().call("start_with", args)
    }

    /// Sends an event, and starts the run first if the key has none: one commit (V11).
    #[expect(clippy::needless_pass_by_value, reason = "the event is handed over")]
    pub fn send_or_start<W: Workflow, V: EventOf<W>>(
        handle: &Handle<W>,
        event: V,
        input: Args,
    ) -> Call<Sent, SendError> {
        let args = Args::new().put(&raw(input)).put(&V::NAME.to_owned()).with(V::codec(), &event);
        handle.address().call("send_or_start", args)
    }
}

/// The parameters as one JSON value. `None` if the parameters cannot be written: the receiver
/// then refuses the call.
fn raw(args: Args) -> Option<Box<RawValue>> {
    let bytes: Bytes = args.finish().ok()?;
    decode(&bytes).ok()
}

/// The result of `start_or_get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// A new run begins.
    Started,
    /// The key has a run that was started with this input.
    Found,
}

/// Why a run does not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartError {
    /// The key has a run. The run was not changed.
    #[error("there is a run of this key already, and it is {status}")]
    AlreadyExists {
        /// The status of the run.
        status: String,
    },
    /// The event was refused.
    #[error("{0}")]
    Event(SendError),
}

/// The answer to a sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The number of the event among the events of this run.
    pub number: u64,
    /// Whether a wait took the event at once.
    pub taken: bool,
}

/// Why an event was refused. Nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SendError {
    /// The key has no run (V7).
    #[error("there is no such run")]
    NotFound,
    /// The run has ended (V7).
    #[error("the run is {status}, and takes no more events")]
    Terminated {
        /// How it ended.
        status: String,
    },
    /// Too many events of this type are queued (V9).
    #[error("{limit} events `{event}` are queued, and none is taken")]
    Full {
        /// The event type.
        event: String,
        /// How many may be queued.
        limit: u64,
    },
    /// The workflow does not accept this event type (V3).
    #[error("the workflow does not accept the event `{event}`; it accepts: {}", accepted.join(", "))]
    NotAccepted {
        /// The event type.
        event: String,
        /// The event types that the workflow accepts.
        accepted: Vec<String>,
    },
    /// The event is too long (V9).
    #[error("the event `{event}` has {bytes} bytes with its key, and {limit} is the most that can be sent")]
    TooLarge {
        /// The event type.
        event: String,
        /// The bytes of the event and of its key.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The payload is not an event of this type (V3).
    #[error("this is not an event `{event}`: {reason}")]
    Malformed {
        /// The event type.
        event: String,
        /// The place and the reason.
        reason: String,
    },
}

/// A queued event (V12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedEvent {
    /// The event type.
    pub event: String,
    /// The number of the event among the events of this run.
    pub number: u64,
    /// When the event was sent.
    pub sent_at: Timestamp,
    /// The payload.
    pub body: serde_json::Value,
}

/// A page of queued events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventsPage {
    /// The events, in order.
    pub events: Vec<QueuedEvent>,
    /// The number to continue after; `None` on the last page.
    pub next: Option<u64>,
}

impl<W: Workflow> From<Handle<W>> for Verbs<W> {
    fn from(handle: Handle<W>) -> Self {
        Self(handle)
    }
}

impl<W> Deref for Verbs<W> {
    type Target = Handle<W>;

    fn deref(&self) -> &Handle<W> {
        &self.0
    }
}

impl<W> fmt::Debug for Verbs<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}
