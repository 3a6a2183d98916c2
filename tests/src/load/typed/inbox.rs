//! The buffer that is added to. Flushes are rare, and only count items.

use anyhow::Result;
use bytes::Bytes;
use drystone::{Batch, Never, primitive};
use serde::{Deserialize, Serialize};

use super::{App, appender::ITEM_BYTES, keys};
use crate::load::measuring::callers::Writer;

/// Counts the items of its batches.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Inbox {
    taken: usize,
}

#[primitive(buffer, max_items = 1_000, max_wait = "1h")]
impl Inbox {
    #[flush]
    async fn take(&mut self, batch: Batch<String>) -> Result<(), Never> {
        self.taken += batch.items.len();
        Ok(())
    }
}

type Client = <App as drystone::Primitives>::Client;

/// The typed client, as a writer of items.
pub(super) struct Inboxes {
    client: Client,
    keys: Vec<Bytes>,
    item: String,
}

impl Inboxes {
    pub(super) fn new(client: Client, count: u32) -> Self {
        // Two bytes of each item are its quotation marks in JSON.
        Self { client, keys: keys(count), item: "i".repeat(ITEM_BYTES - 2) }
    }
}

impl Writer for Inboxes {
    async fn write(&self, row: usize) -> Result<()> {
        self.client.inbox(&self.keys[row]).add(self.item.clone()).await?;
        Ok(())
    }
}
