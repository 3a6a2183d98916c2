//! Lifecycle events, as they happen (E15).

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use drystone_runtime::kernel::{Event, Listener};
use futures_core::Stream;
use serde::Serialize;
use serde_json::{Map, Value};

use super::view::json;

/// An event in the life of an entity: `buffer.flushed`, `continuous.failed`, `dead_letter.added`, or an
/// author's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LifecycleEvent {
    /// The name of the event.
    pub name: String,
    /// The definition of the entity.
    pub primitive: String,
    /// The entity's key, as text; bytes that are not UTF-8 are replaced.
    pub key: String,
    /// The details of the event.
    pub fields: Map<String, Value>,
}

impl From<Event> for LifecycleEvent {
    fn from(event: Event) -> Self {
        let fields = event.lifecycle.fields.iter().map(|(name, value)| (name.to_string(), json(value)));
        Self {
            name: event.lifecycle.name.to_string(),
            primitive: event.definition.to_string(),
            key: String::from_utf8_lossy(&event.key.key).into_owned(),
            fields: fields.collect(),
        }
    }
}

/// The stream of all events of an app from now on: [`Runtime::events`](crate::Runtime::events).
///
/// An event is emitted after the commit in which it happened, to any number of listeners, and is stored
/// nowhere. Up to 1,024 events wait for a listener. A slower listener loses the oldest events, which are
/// counted, and never slows others.
pub struct Events {
    /// The wait for the next event. It is kept between calls, so that a dropped call of `next` loses no
    /// event.
    hearing: Hearing,
    missed: u64,
    is_over: bool,
}

type Hearing = Pin<Box<dyn Future<Output = (Option<Event>, Listener)> + Send + Sync>>;

impl Events {
    pub(crate) fn new(listener: Listener) -> Self {
        Self { missed: listener.missed(), hearing: hear(listener), is_over: false }
    }

    /// Returns the next event; `None` when the app has ended.
    pub async fn next(&mut self) -> Option<LifecycleEvent> {
        poll_fn(|context| self.poll(context)).await
    }

    /// Returns how many events this listener lost because it was too slow, up to the last event that it got.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<LifecycleEvent>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        self.hearing.as_mut().poll(context).map(|(event, listener)| {
            self.missed = listener.missed();
            self.is_over = event.is_none();
            self.hearing = hear(listener);
            event.map(LifecycleEvent::from)
        })
    }
}

fn hear(mut listener: Listener) -> Hearing {
    Box::pin(async move { (listener.next().await, listener) })
}

impl Stream for Events {
    type Item = LifecycleEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<LifecycleEvent>> {
        self.poll(context)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Events").field("missed", &self.missed).finish_non_exhaustive()
    }
}
