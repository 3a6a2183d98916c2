//! Mail: a queue that processes three items at once, with `&self`.

use drystone::{Context, Item, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{apps::Processed, handlers::Stage};

/// Empty: the `&self` code writes nothing.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Mail(Processed);

#[primitive(queue, concurrency = 3, max_attempts = 3, backoff = "20ms..80ms", timeout = "300ms", max_depth = 60)]
impl Mail {
    #[process]
    async fn send(&self, item: Item<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
        process(&item, stage, cx).await
    }
}

/// The code of every processing of an item.
pub(in crate::sim::apps) async fn process(item: &Item<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
    stage.world.recorder.queued.given(stage, item, cx);
    stage.act(cx).await
}
