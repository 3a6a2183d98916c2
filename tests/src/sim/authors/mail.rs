//! Mail: a queue of which three items go at once, `&self`.

use drystone::{Context, Item, primitive};
use serde::{Deserialize, Serialize};

use super::Processed;
use crate::sim::toys::Stage;

/// Nothing: its code only reads.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Mail(Processed);

#[primitive(queue, concurrency = 3, max_attempts = 3, backoff = "20ms..80ms", timeout = "300ms", max_depth = 60)]
impl Mail {
    #[process]
    async fn send(&self, item: Item<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
        process(&item, stage, cx).await
    }
}

/// What every processing of an item does.
pub(super) async fn process(item: &Item<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
    stage.world.recorder.queued.given(stage, item, cx);
    stage.act(cx).await
}
