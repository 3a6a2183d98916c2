//! A buffer with small batches and a flush with `&mut self`. Some flushes fail or panic at first.

use drystone::{Batch, Client, Failure, Transaction, primitive};
use serde::{Deserialize, Serialize};

use super::{Writer, Written, stumble, tally};
use crate::crash::{op::Op, parts::outbox::Post};

/// The number of items that have been flushed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Tally {
    pub(super) flushed: u64,
}

#[primitive(buffer, max_items = 3, max_wait = "10ms", max_attempts = 3, backoff = "3ms")]
impl Tally {
    #[flush(transaction)]
    fn flush(&mut self, batch: Batch<u64>, post: &Client<Post>, sql: &mut Transaction<'_>) -> Result<(), Failure> {
        Writer::Flush.ran();
        for op in batch.items {
            self.flushed += 1;
            Written { writer: Writer::Flush, keeper: tally(Op(op)), op, nth: self.flushed }.write(post, sql)?;
        }
        Ok(stumble(batch.attempt, batch.number)?)
    }
}
