//! A pulse: a continuous primitive with a fixed rate and a `&mut self` tick. A tick whose attempts all fail
//! stops the entity.

use drystone::{Context, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{
    apps::{Ticked, piece},
    handlers::Stage,
};

/// The ticks that succeeded.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::sim::apps) struct Pulse(Ticked);

#[primitive(continuous, every = "250ms", max_attempts = 3, retry = "40ms", timeout = "300ms")]
impl Pulse {
    #[tick]
    async fn beat(&mut self, stage: &Stage, cx: &Context) -> Result<(), String> {
        // The change comes before the failure: changes of an attempt that fails must never be seen (E5).
        self.0.ticks.push(piece(cx));
        stage.act(cx).await
    }
}
