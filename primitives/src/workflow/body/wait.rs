//! Waits of a body for events.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    event::{
        Event,
        key::{KeyOf, Said},
    },
    workflow::replay::{
        ask::{Ask, Wanted},
        core::{Core, Stop},
        journal::Recorded,
        op::Op,
    },
};

/// The most events that a wait takes. Each event is a row to remove, all in one commit (K3).
const TIMES_MAX: u32 = 300;

/// A wait for one event: the oldest event of its type that is queued, or the next one (V2). If the event
/// has a topic, published events count, too (T). Without a [`timeout`](Self::timeout) the wait lasts
/// forever and has no error.
#[must_use = "a wait does nothing until it is awaited"]
pub struct Wait<E, K = Said> {
    op: Op,
    event: PhantomData<fn() -> (E, K)>,
}

impl<E: Event> Wait<E, E::Asks> {
    pub(in crate::workflow) fn new(core: &Core) -> Self {
        let is_published = E::OPTIONS.topic_options().is_some();
        let wanted = Wanted { event: E::NAME, key: None, count: 1, timeout: None, is_published };
        Self { op: Op::new(core, Ask::Wait(wanted), None), event: PhantomData }
    }
}

impl<E: Event, K> Wait<E, K> {
    /// Waits only for an event with this key: the value of the field that `#[event(key = ..)]` names, or a
    /// tuple if it names several. Other events stay queued.
    #[expect(clippy::needless_pass_by_value, reason = "a key is handed over")]
    pub fn key(mut self, key: impl KeyOf<K>) -> Wait<E> {
        self.wanted().key = Some(key.text());
        Wait { op: self.op, event: PhantomData }
    }

    /// Waits for several events at once, in order. No event is taken before all of them are there. `count`
    /// is at least 1 and at most 300, because one commit takes all events. Take more in a loop.
    ///
    /// # Panics
    /// If `count` is 0 or more than 300.
    pub fn times(mut self, count: u32) -> WaitMany<E, K> {
        let name = E::NAME;
        assert!(count > 0, "`flow.wait_for::<{name}>().times(0)` waits for nothing: leave it out");
        assert!(
            count <= TIMES_MAX,
            "`flow.wait_for::<{name}>().times({count})` is more than {TIMES_MAX} at once: wait for some of them again and again"
        );
        self.wanted().count = count;
        WaitMany(self)
    }

    /// Limits the wait. At the limit the output is an [`EventTimeout`], and a later event stays queued for
    /// the next wait (V6).
    pub fn timeout(mut self, limit: Duration) -> TimedWait<Self> {
        self.wanted().timeout = Some(limit);
        TimedWait(self)
    }

    fn wanted(&mut self) -> &mut Wanted {
        match self.op.ask_mut() {
            Some(Ask::Wait(wanted)) => wanted,
            _ => unreachable!("a wait that is being made was not polled yet"),
        }
    }

    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Result<Vec<E>, EventTimeout>> {
        let read = match std::task::ready!(self.op.poll(context)) {
            Recorded::Events(events) => events.iter().map(|event| E::codec().read(event)).collect(),
            Recorded::TimedOut { after } => {
                return Poll::Ready(Err(EventTimeout { event: E::NAME.to_owned(), after }));
            }
            other => Err(format!("it is recorded as {}", other.noun())),
        };
        match read {
            Ok(events) => Poll::Ready(Ok(events)),
            Err(reason) => {
                self.op.core().stop(Stop::Unreadable(self.op.id().clone(), reason));
                Poll::Pending
            }
        }
    }
}

impl<E: Event, K> Future for Wait<E, K> {
    type Output = E;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<E> {
        self.poll_events(context).map(|events| one(events).expect("a wait without a timeout does not time out"))
    }
}

fn one<E>(events: Result<Vec<E>, EventTimeout>) -> Result<E, EventTimeout> {
    events.map(|mut events| events.pop().expect("a wait for one event is told one"))
}

/// A wait for several events of one type: [`Wait::times`].
#[must_use = "a wait does nothing until it is awaited"]
pub struct WaitMany<E, K = Said>(Wait<E, K>);

impl<E: Event, K> WaitMany<E, K> {
    /// Limits the wait. At the limit the output is an [`EventTimeout`], and the events so far stay queued.
    pub fn timeout(mut self, limit: Duration) -> TimedWait<Self> {
        self.0.wanted().timeout = Some(limit);
        TimedWait(self)
    }
}

impl<E: Event, K> Future for WaitMany<E, K> {
    type Output = Vec<E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<E>> {
        self.0.poll_events(context).map(|events| events.expect("a wait without a timeout does not time out"))
    }
}

/// A wait with a deadline: [`Wait::timeout`].
#[derive(Debug)]
#[must_use = "a wait does nothing until it is awaited"]
pub struct TimedWait<W>(W);

impl<E: Event, K> Future for TimedWait<Wait<E, K>> {
    type Output = Result<E, EventTimeout>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_events(context).map(one)
    }
}

impl<E: Event, K> Future for TimedWait<WaitMany<E, K>> {
    type Output = Result<Vec<E>, EventTimeout>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.0.poll_events(context)
    }
}

/// No event came in time (V6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("no event `{event}` came within {after:?}")]
pub struct EventTimeout {
    /// The event type.
    pub event: String,
    /// The limit of the wait.
    pub after: Duration,
}

impl<E, K> fmt::Debug for Wait<E, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Wait({})", self.op.id())
    }
}

impl<E, K> fmt::Debug for WaitMany<E, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, out)
    }
}
