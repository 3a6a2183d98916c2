//! A buffer with small batches. Some batches fail or panic, and one kills the process.

use drystone::{Batch, primitive};
use serde::{Deserialize, Serialize};

use super::PLANNED;
use crate::crash::{
    judging::{fate::Fate, guilt},
    op::{Op, Rule},
    parts::part::Part,
};

/// The items of all batches that succeeded.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Pile {
    pub(super) flushed: Vec<u64>,
}

#[primitive(buffer, max_items = 4, max_wait = "15ms", max_attempts = 2, backoff = "3ms")]
impl Pile {
    #[flush]
    async fn flush(&mut self, batch: Batch<u64>, fate: &Fate) -> Result<(), String> {
        Part::Buffers.moved();
        // Change the state before the failure: if the change survived the failure, the verdict would find
        // the items.
        self.flushed.extend(&batch.items);
        match batch.items.iter().map(|item| Op(*item).rule()).max() {
            Some(Rule::Kills) if *fate == Fate::Dies => {
                guilt::kill("pile");
                Err(PLANNED.to_owned())
            }
            Some(Rule::Panics) => panic!("{PLANNED}"),
            Some(Rule::Kills | Rule::Fails) => Err(PLANNED.to_owned()),
            Some(Rule::Succeeds) | None => Ok(()),
        }
    }
}
