//! A heap: a buffer with a `#[reduce]`. The folded value also lists its items.

use drystone::{Context, Folded, kinds::buffer::Reason, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{Flush, Flushes},
    handlers::Stage,
    recording::log::Class,
};

/// The batches that were flushed.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Heap(Flushes);

/// The folded items: their sum, and the items themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// The sum of the items.
    pub total: u64,
    /// The items in order.
    pub items: Vec<u64>,
}

#[primitive(buffer, max_items = 3, max_wait = "100ms", max_attempts = 2, backoff = "40ms", timeout = "300ms")]
impl Heap {
    #[reduce]
    fn pile(sum: &mut Sum, item: u64) {
        sum.total = sum.total.wrapping_add(item);
        sum.items.push(item);
    }

    #[flush]
    async fn carry(&mut self, folded: Folded<Sum>, stage: &Stage, cx: &Context) -> Result<(), String> {
        let Folded { id, number, reason, count, value: Sum { total, items }, .. } = folded;
        let sum = items.iter().fold(0_u64, |sum, item| sum.wrapping_add(*item));
        let whole = (total, count) == (sum, items.len() as u64);
        stage
            .world
            .chronicle
            .check(whole, Class::Broken, "B7", || format!("{id} has {count} items and the sum {total}, of {items:x?}"));
        stage.world.recorder.flushes(&stage.world.chronicle, &id, &items);
        self.0.flushed.push(Flush { number, id, is_replayed: reason == Reason::Replay, items });
        stage.act(cx).await
    }
}
