//! A drip: a continuous primitive with a fixed delay, a first tick at once, a `&self` tick and an
//! `#[apply]`. A tick whose attempts all fail is skipped.

use drystone::{Context, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{Ticked, piece},
    handlers::Stage,
};

/// The ticks that succeeded.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Drip(Ticked);

#[primitive(
    continuous,
    after = "120ms",
    first = "now",
    max_attempts = 2,
    retry = "30ms",
    timeout = "300ms",
    on_exhausted = "continue"
)]
impl Drip {
    #[tick]
    async fn fall(&self, stage: &Stage, cx: &Context) -> Result<u64, String> {
        stage.act(cx).await?;
        Ok(piece(cx))
    }

    #[apply]
    fn keep(&mut self, tick: u64) {
        self.0.ticks.push(tick);
    }
}
