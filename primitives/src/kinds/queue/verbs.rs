//! What callers of a queue hold.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Item, Stats};
use crate::{Args, Call, Never, Primitive, Stored, Timestamp, decode};

crate::verbs! {
    /// The verbs of a queue, beside those of every entity. `I` is what its `#[process]` takes: [`Item<T>`](Item).
    pub struct Verbs;
}

/// How items are enqueued: at once, with priority 0, however often, unless said.
///
/// ```
/// use drystone::{d, kinds::queue::Enqueue};
///
/// let how = Enqueue::new().priority(5).delay(d!("10m")).dedup("order-9", d!("1h"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueue {
    #[serde(default, skip_serializing_if = "crate::stored::is_default")]
    pub(super) priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dedup: Option<Dedup>,
}

/// A key under which something is enqueued once within a window.
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
    /// At once, with priority 0.
    pub const fn new() -> Self {
        Self { priority: 0, delay_ms: None, dedup: None }
    }

    /// Before all that wait with a lower one; among equals first come, first served. 0 unless said, the lowest.
    #[must_use]
    pub const fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Not before `delay` has passed; then it joins the line, behind its equals.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay_ms = Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Nothing is enqueued if something was under this key within its window, whether or not that was processed already;
    /// the answer is that of the first time. The key has 512 bytes at most. One key may stand for many items: see
    /// [`enqueue_many_with`](Verbs::enqueue_many_with).
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

/// What `enqueue` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueued {
    /// The item's number in this queue; later ones have higher ones.
    pub number: u64,
    /// How many waited before it; `None` if it is delayed, or was enqueued before.
    pub position: Option<u64>,
    /// Whether it was enqueued by this call: `false` if its dedup key was seen within its window.
    pub is_new: bool,
}

/// What `enqueue_many` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnqueuedMany {
    /// The first item's number; the others follow it.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// How many waited before the first; `None` if they are delayed, or were enqueued before.
    pub position: Option<u64>,
    /// Whether they were enqueued by this call: `false` if their dedup key was seen within its window.
    pub is_new: bool,
}

/// The queue is full: nothing was enqueued, and nothing that it has is lost (Q5). Try again when items have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the queue is full: it would have more than {limit} items; try again when some have been processed")]
pub struct Full {
    /// How many items there may be: `max_depth`.
    pub limit: u64,
}

/// An item that waits, as `peek` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peeked<T> {
    /// Its number.
    pub number: u64,
    /// What it was enqueued with.
    pub priority: u8,
    /// When it was enqueued.
    pub enqueued_at: Timestamp,
    /// What was enqueued.
    pub value: T,
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Begins no more items; those that run go on. What is enqueued waits. Whether it was not paused before.
    pub fn pause(&self) -> Call<bool> {
        self.address().call("pause", Args::new())
    }

    /// Goes on after [`pause`](Self::pause). Whether it was paused before.
    pub fn resume(&self) -> Call<bool> {
        self.address().call("resume", Args::new())
    }

    /// Answers when nothing is left: no item waits, runs, is delayed or is to be tried again. Items that are enqueued
    /// meanwhile are waited for, too. A caller who will not wait so long sets a [`deadline`](Call::deadline).
    pub fn drain(&self) -> Call<()> {
        self.address().call("drain", Args::new())
    }

    /// Where it stands; all zero if the key is unbound.
    pub fn stats(&self) -> Call<Stats> {
        let read = |bytes: &[u8]| decode::<Option<Stats>>(bytes).map(Option::unwrap_or_default);
        Call::new(self.address(), "status", Args::new(), read, decode::<Never>)
    }
}

impl<T: Primitive, V: Stored> Verbs<T, Item<V>> {
    /// Enqueues an item; it is durable when this answers (Q1). Binds the key if a state can be made (E1).
    pub fn enqueue(&self, item: V) -> Call<Enqueued, Full> {
        self.enqueue_with(item, &Enqueue::new())
    }

    /// Enqueues an item with a priority, after a delay, or once for a key.
    pub fn enqueue_with(&self, item: V, how: &Enqueue) -> Call<Enqueued, Full> {
        let args = Args::new().put(&[item]).put(how);
        Call::new(self.address(), "enqueue", args, one, decode)
    }

    /// Enqueues items in this order, all or none: at most some 900 at once (K3).
    pub fn enqueue_many(&self, items: impl IntoIterator<Item = V>) -> Call<EnqueuedMany, Full> {
        self.enqueue_many_with(items, &Enqueue::new())
    }

    /// Enqueues items, each with the same priority and delay. A dedup key stands for all of them together.
    pub fn enqueue_many_with(&self, items: impl IntoIterator<Item = V>, how: &Enqueue) -> Call<EnqueuedMany, Full> {
        let items: Vec<V> = items.into_iter().collect();
        self.address().call("enqueue", Args::new().put(&items).put(how))
    }

    /// The first items that wait, at most 100, in the order in which they go.
    pub fn peek(&self, count: u32) -> Call<Vec<Peeked<V>>> {
        self.address().call("peek", Args::new().put(&count))
    }
}

/// What is told of one item.
fn one(answer: &[u8]) -> Result<Enqueued, String> {
    let EnqueuedMany { first, position, is_new, .. } = decode(answer)?;
    Ok(Enqueued { number: first, position, is_new })
}
