//! Steps: a queue in strict order, with `&mut self`. A failing item delays all later items.

use drystone::{Context, Item, primitive};
use serde::{Deserialize, Serialize};

use super::{Processed, queues::mail::process};
use crate::sim::handlers::Stage;

/// The items that were processed.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Steps(Processed);

#[primitive(queue, strict_order, max_attempts = 2, backoff = "30ms", timeout = "300ms", max_depth = 8)]
impl Steps {
    #[process]
    async fn climb(&mut self, item: Item<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
        // The change comes before the failure: changes of an attempt that fails must never be seen (E5).
        self.0.items.push(item.value);
        process(&item, stage, cx).await
    }
}
