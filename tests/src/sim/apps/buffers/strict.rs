//! A strict basket: a buffer in strict order. A failing batch delays all later batches.

use drystone::{Batch, Context, primitive};
use serde::{Deserialize, Serialize};

use super::basket::carry;
use crate::sim::{apps::Flushes, handlers::Stage};

/// The batches that were flushed.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Strict(Flushes);

#[primitive(
    buffer,
    max_items = 2,
    max_wait = "60ms",
    reset_on_add,
    strict_order,
    max_attempts = 3,
    backoff = "20ms..80ms",
    timeout = "300ms"
)]
impl Strict {
    #[flush]
    async fn carry(&mut self, batch: Batch<u64>, stage: &Stage, cx: &Context) -> Result<(), String> {
        carry(&mut self.0, batch, stage, cx).await
    }
}
