//! The verbs of a queue.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Item, Stats};
use crate::{Args, Call, Never, Primitive, Stored, Timestamp, decode};

crate::verbs! {
    /// The verbs of a queue, beside those of every entity. `I` is the input of its `#[process]`:
    /// [`Item<T>`](Item).
    pub struct Verbs;
}

/// How items are enqueued: by default at once, with priority 0, and however often.
///
/// ```
/// use drystone::{d, kinds::queue::Enqueue};
///
/// let how = Enqueue::new().priority(5).delay(d!("10m")).dedup("order-9", d!("1h"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueue {
    #[serde(default, skip_serializing_if = "crate::values::stored::is_default")]
    pub(super) priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dedup: Option<Dedup>,
}

/// A dedup key, under which something is enqueued once within a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dedup {
    pub(super) key: String,
    window_ms: u64,
}

impl Dedup {
    pub(super) fn window(&self) -> Duration {
        Duration::from_millis(self.window_ms)
    }
}

impl Enqueue {
    /// At once, with priority 0, and without a dedup key.
    pub const fn new() -> Self {
        Self { priority: 0, delay_ms: None, dedup: None }
    }

    /// Sets the priority; the default is 0, the lowest. Items of a higher priority go first. Items of the
    /// same priority are first come, first served.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Delays the item. When `delay` has passed, it joins the line behind the items of its priority.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay_ms = Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets a dedup key of at most 512 bytes. If something was enqueued under this key within its window,
    /// nothing is enqueued, whether or not the first item was processed already. The answer is that of the
    /// first call. One key may stand for many items: see [`enqueue_many_with`](Verbs::enqueue_many_with).
    #[must_use]
    pub fn dedup(mut self, key: impl Into<String>, window: Duration) -> Self {
        let window_ms = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        self.dedup = Some(Dedup { key: key.into(), window_ms });
        self
    }

    pub(super) fn wait(&self) -> Option<Duration> {
        self.delay_ms.filter(|delay| *delay > 0).map(Duration::from_millis)
    }
}

/// The answer of `enqueue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueued {
    /// The number of the item in this queue. Later items have higher numbers.
    pub number: u64,
    /// How many items waited before this item; `None` for a delayed item, or one enqueued by an earlier
    /// call.
    pub position: Option<u64>,
    /// Whether this call enqueued the item: `false` if the dedup key was seen within its window.
    pub is_new: bool,
}

/// The answer of `enqueue_many`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnqueuedMany {
    /// The number of the first item. The other numbers follow it.
    pub first: u64,
    /// How many items there are.
    pub count: u64,
    /// How many items waited before the first; `None` for delayed items, or items enqueued by an earlier
    /// call.
    pub position: Option<u64>,
    /// Whether this call enqueued the items: `false` if the dedup key was seen within its window.
    pub is_new: bool,
}

/// The queue is full: nothing was enqueued, and no stored item is lost (Q5). Try again when items have been
/// processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the queue is full: it would have more than {limit} items; try again when some have been processed")]
pub struct Full {
    /// The limit of items: `max_depth`.
    pub limit: u64,
}

/// A waiting item, as `peek` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peeked<T> {
    /// The number of the item.
    pub number: u64,
    /// The priority with which the item was enqueued.
    pub priority: u8,
    /// When the item was enqueued.
    pub enqueued_at: Timestamp,
    /// The enqueued value.
    pub value: T,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Pauses the queue: no more items start, and running items run to their end. New items wait. Returns
    /// `false` if the queue was paused before.
    pub fn pause(&self) -> Call<bool> {
        self.address().call("pause", Args::new())
    }

    /// Resumes the queue after a [`pause`](Self::pause). Returns `false` if the queue was not paused.
    pub fn resume(&self) -> Call<bool> {
        self.address().call("resume", Args::new())
    }

    /// Answers when no item is left: none waits, runs, is delayed or waits for a retry. The call also waits
    /// for items that are enqueued meanwhile. A caller who does not want to wait that long sets a
    /// [`deadline`](Call::deadline).
    pub fn drain(&self) -> Call<()> {
        self.address().call("drain", Args::new())
    }

    /// Returns the status; all zero if the key is unbound.
    pub fn stats(&self) -> Call<Stats> {
        let read = |bytes: &[u8]| decode::<Option<Stats>>(bytes).map(Option::unwrap_or_default);
        Call::new(self.address(), "status", Args::new(), read, decode::<Never>)
    }
}

impl<T: Primitive, V: Stored> Verbs<T, Item<V>> {
    /// Enqueues an item, which is durable when this call answers (Q1). Binds the key if a state can be made
    /// (E1).
    pub fn enqueue(&self, item: V) -> Call<Enqueued, Full> {
        self.enqueue_with(item, &Enqueue::new())
    }

    /// Enqueues an item with a priority, a delay, or a dedup key.
    pub fn enqueue_with(&self, item: V, how: &Enqueue) -> Call<Enqueued, Full> {
        let args = Args::new().put(&[item]).put(how);
        Call::new(self.address(), "enqueue", args, one, decode)
    }

    /// Enqueues items in this order, all or none; at most about 900 at once (K3).
    pub fn enqueue_many(&self, items: impl IntoIterator<Item = V>) -> Call<EnqueuedMany, Full> {
        self.enqueue_many_with(items, &Enqueue::new())
    }

    /// Enqueues items, each with the same priority and delay. A dedup key stands for all of them together.
    pub fn enqueue_many_with(&self, items: impl IntoIterator<Item = V>, how: &Enqueue) -> Call<EnqueuedMany, Full> {
        let items: Vec<V> = items.into_iter().collect();
        self.address().call("enqueue", Args::new().put(&items).put(how))
    }

    /// Returns the first waiting items, at most 100, in the order in which they go.
    pub fn peek(&self, count: u32) -> Call<Vec<Peeked<V>>> {
        self.address().call("peek", Args::new().put(&count))
    }
}

/// Reads the answer for a single item.
fn one(answer: &[u8]) -> Result<Enqueued, String> {
    let EnqueuedMany { first, position, is_new, .. } = decode(answer)?;
    Ok(Enqueued { number: first, position, is_new })
}
