//! A basket: a buffer without strict order, whose flush takes `&mut self`.

use drystone::{Batch, Context, kinds::buffer::Reason, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{Flush, Flushes},
    handlers::Stage,
};

/// The batches that were flushed.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Basket(Flushes);

#[primitive(buffer, max_items = 4, max_wait = "150ms", max_attempts = 2, backoff = "40ms", timeout = "300ms")]
impl Basket {
    #[flush]
    async fn carry(&mut self, batch: Batch<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
        carry(&mut self.0, batch, stage, cx).await
    }
}

/// The code of every flush of single items.
pub(in crate::sim::apps) async fn carry(
    kept: &mut Flushes,
    batch: Batch<u64>,
    stage: &Stage,
    cx: &Context,
) -> Result<(), String> {
    let Batch { id, number, reason, items, .. } = batch;
    stage.world.recorder.flushes(&stage.world.chronicle, &id, &items);
    // The change comes before the failure: changes of an attempt that fails must never be seen (E5).
    kept.flushed.push(Flush { number, id, is_replayed: reason == Reason::Replay, items });
    stage.act(cx).await
}
