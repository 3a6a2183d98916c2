//! A tally: a queue that processes two items at once, with `&self` and an `#[apply]`.

use drystone::{Context, Item, primitive};
use serde::{Deserialize, Serialize};

use super::{Processed, queues::mail::process};
use crate::sim::handlers::Stage;

/// The items that were processed.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Tally(Processed);

#[primitive(queue, concurrency = 2, max_attempts = 2, backoff = "10ms", timeout = "300ms", max_depth = 20)]
impl Tally {
    #[process]
    async fn count(&self, item: Item<u64>, stage: &Stage, cx: &Context) -> Result<u64, String> {
        process(&item, stage, cx).await?;
        Ok(item.value)
    }

    #[apply]
    fn keep(&mut self, item: u64) {
        self.0.items.push(item);
    }
}
