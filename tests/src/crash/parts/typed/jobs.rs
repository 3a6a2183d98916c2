//! A queue that processes three items at once. Some items fail or panic, and one kills the process.

use std::time::Duration;

use drystone::{Item, primitive};
use serde::{Deserialize, Serialize};

use super::PLANNED;
use crate::crash::{
    judging::{fate::Fate, guilt, said::Said},
    op::{Op, Rule},
    parts::part::Part,
};

/// How long the guilty job runs before it kills.
const MOMENT: Duration = Duration::from_millis(15);

/// The items that were processed, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Jobs {
    pub(super) done: Vec<u64>,
}

#[primitive(queue, concurrency = 3, max_attempts = 2, backoff = "3ms")]
impl Jobs {
    #[process]
    async fn run(&self, item: Item<u64>, fate: &Fate) -> Result<u64, String> {
        Part::Queues.moved();
        // Report every execution with the id of the job, which has the key and the number.
        Said::Processed(Op(item.value), name(&item.id).ok_or("an id ends with a number")?).aloud();
        match Op(item.value).rule() {
            Rule::Kills if *fate == Fate::Dies => {
                // Wait until other work has ended: the other kernel in this process would count the death
                // against its own work.
                tokio::time::sleep(MOMENT).await;
                guilt::kill("job");
                Err(PLANNED.to_owned())
            }
            Rule::Panics => panic!("{PLANNED}"),
            Rule::Kills | Rule::Fails => Err(PLANNED.to_owned()),
            Rule::Succeeds => Ok(item.value),
        }
    }

    #[apply]
    fn keep(&mut self, item: u64) {
        self.done.push(item);
    }
}

/// The hash of a whole id such as `jobs-7f-process/12`. `None` if the id does not end with a number.
fn name(id: &str) -> Option<u64> {
    id.rsplit_once('/')?.1.parse::<u64>().ok()?;
    Some(drystone_runtime::stable_hash(&[id.as_bytes()]))
}
