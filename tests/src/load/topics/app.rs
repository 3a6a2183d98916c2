//! The published event and the runs that wait for it, as an author writes them.

use drystone::{Event, Flow, Primitives, join_all, workflow};
use serde::{Deserialize, Serialize};

/// As many bytes as the bare writer's row has.
const TEXT_BYTES: usize = 200;

/// An event for all runs that wait on its topic.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = topic)]
pub(super) struct Posted {
    topic: u64,
    text: String,
}

impl Posted {
    pub(super) fn to(topic: u64) -> Self {
        Self { topic, text: "t".repeat(TEXT_BYTES) }
    }
}

/// A run: waits for an event.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Listener;

#[workflow(events(Posted))]
impl Listener {
    async fn run(flow: &Flow<Self>, topic: u64) -> usize {
        flow.wait_for::<Posted>().key(topic).await.text.len()
    }
}

/// A run that waits on many topics at once, for one event of each.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Reader;

#[workflow(events(Posted))]
impl Reader {
    async fn run(flow: &Flow<Self>, first: u64, end: u64) -> usize {
        join_all((first..end).map(|topic| flow.wait_for::<Posted>().key(topic))).await.len()
    }
}

#[derive(Primitives)]
pub(super) struct App {
    listener: Listener,
    reader: Reader,
}
