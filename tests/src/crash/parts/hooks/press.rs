//! A queue. Its items are processed with `&self`, three at a time, and their values are applied.

use drystone::{Client, Failure, Item, Transaction, primitive};
use serde::{Deserialize, Serialize};

use super::{Writer, Written, press, stumble};
use crate::crash::{op::Op, parts::outbox::Post};

/// The items that were processed: their number, and the sum of their operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::crash) struct Press {
    pub(super) processed: u64,
    pub(super) sum: u64,
}

#[primitive(queue, concurrency = 3, max_attempts = 3, backoff = "3ms")]
impl Press {
    #[process(transaction)]
    fn print(&self, item: Item<u64>, post: &Client<Post>, sql: &mut Transaction<'_>) -> Result<u64, Failure> {
        Writer::Process.ran();
        let op = item.value;
        Written { writer: Writer::Process, keeper: press(Op(op)), op, nth: item.number }.write(post, sql)?;
        stumble(item.attempt, item.number)?;
        Ok(op)
    }

    #[apply]
    fn printed(&mut self, op: u64) {
        self.processed += 1;
        self.sum = self.sum.wrapping_add(op);
    }
}
