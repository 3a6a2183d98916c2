//! What callers of a run hold.

use std::{fmt, ops::Deref};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{EventOf, History, RestartError, Restarted, Restarting, RunStatus, Workflow, history::HistoryPage};
use crate::{Args, Call, CallError, Handle, Never, Timestamp, decode};

/// The verbs of a run of the workflow `W`. The handle that `client.checkout("key")` gives dereferences to this, and has `start` and
/// its relatives, `result` and `try_result` beside it, whose types are the body's.
pub struct Verbs<W>(Handle<W>);

impl<W: Workflow> Verbs<W> {
    /// Where the run stands; `None` if there is none of this key.
    pub fn status(&self) -> Call<Option<RunStatus>> {
        self.0.address().call("status", Args::new())
    }

    /// The state as it is stored; `None` if there is no run of this key.
    pub fn state(&self) -> Call<Option<W>> {
        Call::new(self.0.address(), "state", Args::new(), state_of::<W>, decode::<Never>)
    }

    /// Sends an event: durable when this answers, and taken by the oldest wait for its type, now or later (V1, V2).
    #[expect(clippy::needless_pass_by_value, reason = "the event is handed over")]
    pub fn send<V: EventOf<W>>(&self, event: V) -> Call<Sent, SendError> {
        self.0.address().call("send", Args::new().put(&V::NAME.to_owned()).with(V::codec(), &event))
    }

    /// The events that are queued and not taken yet, in order (V12): all of them, read page by page.
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

    /// The queued events behind a number, 200 at most and fewer if they are long: the first are those behind 0.
    pub fn events_after(&self, number: u64) -> Call<EventsPage> {
        self.0.address().call("events", Args::new().put(&number))
    }

    /// Asks the run to end (L3): steps that run end first, and what they come to is recorded; then the body is dropped at its
    /// await, what is due is undone, and the `#[cancelled]` body runs. `true` once; `false` if the run was asked before or has ended.
    pub fn cancel(&self) -> Call<bool> {
        self.0.address().call("cancel", Args::new())
    }

    /// The same without waiting for steps: those that run are dropped at once, and nobody knows what became of them. So their
    /// undos are due that take what the step took, as after a lost `select!`. A run that was asked before by
    /// [`cancel`](Self::cancel), and waits for its steps, lets them go. `true` if it was not asked before, or if it did.
    pub fn cancel_abandoning_steps(&self) -> Call<bool> {
        self.0.address().call("cancel_abandoning_steps", Args::new())
    }

    /// Ends the run at once: steps that run are dropped, and no more of its code runs. `false` if it has ended.
    pub fn terminate(&self) -> Call<bool> {
        self.0.address().call("terminate", Args::new())
    }

    /// Holds the run (H2): steps that run end, and what they come to is recorded; no step, no attempt and no timer begins or
    /// fires, and events are queued, until [`resume`](Self::resume). `false` if it is held already, has ended, or is on its
    /// way out.
    pub fn pause(&self) -> Call<bool> {
        self.0.address().call("pause", Args::new())
    }

    /// Lets a run go on that was paused, or stopped because its code panicked or was another than it began with. Timers that
    /// passed in a pause fire now, in their order. `true` if it was either.
    pub fn resume(&self) -> Call<bool> {
        self.0.address().call("resume", Args::new())
    }

    /// The same, and every deadline of a run that was paused is later by as long as it was: of sleeps, of waits, of the next
    /// attempts of steps.
    pub fn resume_shifted(&self) -> Call<bool> {
        self.0.address().call("resume_shifted", Args::new())
    }

    /// Begins the run anew with the same input, as a new generation under the same key (L4); also one that has ended. What the
    /// old one recorded, waited for and ran is gone with this commit, and its state; events that nobody took stay, unless
    /// [`drop_events`](Call::drop_events) is said. Whoever waits for the result of a run that goes on waits for that of the new
    /// generation.
    pub fn restart(&self) -> Call<Restarted, RestartError> {
        Restarting::anew(self.0.address(), None)
    }

    /// Everything that is recorded of the run, from its start on; of one generation, also if another begins meanwhile.
    pub async fn history(&self) -> Result<History, CallError<Never>> {
        let mut whole: Option<((u64, u32), History)> = None;
        loop {
            let from = whole.as_ref().map_or(0, |(_, history)| history.entries_count());
            let call: Call<HistoryPage> = self.0.address().call("history", Args::new().put(&from));
            let page = call.await?;
            if whole.take_if(|(of, _)| *of != page.of()).is_some() {
                // What was read is another's: from the start again.
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

/// What `state` answers: nothing at all for a key that is unbound.
fn state_of<W: Workflow>(bytes: &[u8]) -> Result<Option<W>, String> {
    if bytes.is_empty() { Ok(None) } else { W::codec().read(bytes).map(Some) }
}

/// The verbs that start a run: what generated code makes `start` and its relatives of, whose parameters are the body's.
#[derive(Debug)]
pub struct Starting;

impl Starting {
    /// Starts a run; refused if there is one of this key (L2).
    pub fn start<W: Workflow>(handle: &Handle<W>, input: Args) -> Call<(), StartError> {
        handle.address().call("start", input)
    }

    /// Starts a run, or finds the one that was started with the same input.
    pub fn start_or_get<W: Workflow>(handle: &Handle<W>, input: Args) -> Call<Started, StartError> {
        handle.address().call("start_or_get", input)
    }

    /// Starts a run under a new key, which begins with the handle's; that key. There is no idempotency key, for that belongs to one key, and
    /// each call makes another.
    pub async fn start_new<W: Workflow>(handle: Handle<W>, input: Args) -> Result<String, CallError<StartError>> {
        let chance = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ());
        let key = format!("{}{:016x}{:016x}", String::from_utf8_lossy(handle.key()), chance(), chance());
        let address = handle.address().desk().address(handle.address().definition().to_owned(), &key);
        Call::<(), StartError>::new(&address, "start", input, decode, decode).await?;
        Ok(key)
    }

    /// Schedules a key: from now on a run is started at each time of the clock on the wall. `false` if it is scheduled already;
    /// refused if there is a run of this key.
    #[cfg(feature = "cron")]
    pub fn schedule<W: Workflow>(handle: &Handle<W>) -> Call<bool, StartError> {
        handle.address().call("schedule", Args::new())
    }

    /// Starts no more runs; those that go go on. `false` if the key is not scheduled.
    #[cfg(feature = "cron")]
    pub fn unschedule<W: Workflow>(handle: &Handle<W>) -> Call<bool> {
        handle.address().call("unschedule", Args::new())
    }

    /// Where the schedule stands; `None` if the key is not scheduled.
    #[cfg(feature = "cron")]
    pub fn schedule_status<W: Workflow>(handle: &Handle<W>) -> Call<Option<super::ScheduleStatus>> {
        handle.address().call("schedule_status", Args::new())
    }

    /// Starts a run with an event that it finds queued, in one commit (V11).
    #[expect(clippy::needless_pass_by_value, reason = "the event is handed over")]
    pub fn start_with<W: Workflow, V: EventOf<W>>(handle: &Handle<W>, input: Args, event: V) -> Call<Sent, StartError> {
        let args = Args::new().put(&raw(input)).put(&V::NAME.to_owned()).with(V::codec(), &event);
        handle.address().call("start_with", args)
    }

    /// Sends an event, and starts the run first if there is none: one commit (V11).
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

/// The parameters as a value among others. What cannot be written is told by what reads it.
fn raw(args: Args) -> Option<Box<RawValue>> {
    let bytes: Bytes = args.finish().ok()?;
    decode(&bytes).ok()
}

/// What `start_or_get` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Started {
    /// Nothing: the run begins.
    Started,
    /// The run that was started with this input.
    Found,
}

/// Why a run does not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartError {
    /// There is a run of this key; nothing of it was changed.
    #[error("there is a run of this key already, and it is {status}")]
    AlreadyExists {
        /// Where it stands.
        status: String,
    },
    /// The event that it was to be started with was refused.
    #[error("{0}")]
    Event(SendError),
}

/// What became of an event that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Its number among the events of this run.
    pub number: u64,
    /// Whether a wait has taken it at once.
    pub taken: bool,
}

/// Why an event was refused; nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SendError {
    /// There is no run of this key (V7).
    #[error("there is no such run")]
    NotFound,
    /// The run has ended (V7).
    #[error("the run is {status}, and takes no more events")]
    Terminated {
        /// How it ended.
        status: String,
    },
    /// Too many events of this type wait already (V9).
    #[error("{limit} events `{event}` are queued, and none is taken")]
    Full {
        /// The event.
        event: String,
        /// How many may be queued.
        limit: u64,
    },
    /// The workflow does not accept such an event (V3).
    #[error("the workflow does not accept the event `{event}`; it accepts: {}", accepted.join(", "))]
    NotAccepted {
        /// The event.
        event: String,
        /// Those that it accepts.
        accepted: Vec<String>,
    },
    /// It is longer than an event may be (V9).
    #[error("the event `{event}` has {bytes} bytes with its key, and {limit} is the most that can be sent")]
    TooLarge {
        /// The event.
        event: String,
        /// How many bytes it has, and its key once more.
        bytes: u64,
        /// How many it may have.
        limit: u64,
    },
    /// What was sent is not such an event (V3).
    #[error("this is not an event `{event}`: {reason}")]
    Malformed {
        /// The event.
        event: String,
        /// Where and why.
        reason: String,
    },
}

/// An event that waits to be taken (V12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedEvent {
    /// Its type.
    pub event: String,
    /// Its number among the events of this run.
    pub number: u64,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// What it holds.
    pub body: serde_json::Value,
}

/// Some of the events that wait to be taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventsPage {
    /// In order.
    pub events: Vec<QueuedEvent>,
    /// The number behind which the next ones are; `None` at the end.
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
