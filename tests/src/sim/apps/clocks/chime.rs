//! A chime: a continuous primitive that ticks every second by the wall clock and makes up for each missed
//! time. A tick whose attempts all fail is skipped.

use drystone::{Context, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{Ticked, piece},
    handlers::Stage,
};

/// The ticks that succeeded.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Chime(Ticked);

#[primitive(
    continuous,
    cron = "* * * * * *",
    missed = "backfill",
    max_attempts = 2,
    retry = "30ms",
    timeout = "300ms",
    on_exhausted = "continue"
)]
impl Chime {
    #[tick]
    async fn ring(&mut self, stage: &Stage, cx: &Context) -> Result<(), String> {
        self.0.ticks.push(piece(cx));
        stage.act(cx).await
    }
}
