//! The object that is written to. A `put` is pure, and leaves a state of about 200 bytes.

use anyhow::Result;
use bytes::Bytes;
use drystone::primitive;
use serde::{Deserialize, Serialize};

use super::{App, keys};
use crate::load::measuring::callers::Writer;

/// With the count and the field names, the state is as long as that of the adder.
const NOTE_BYTES: usize = 170;

/// Counts its calls, and keeps the note of the last one.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Cell {
    count: u64,
    note: String,
}

#[primitive(object)]
impl Cell {
    /// Keeps a note. Returns the number of notes so far.
    async fn put(&mut self, note: String) -> u64 {
        self.count += 1;
        self.note = note;
        self.count
    }
}

type Client = <App as drystone::Primitives>::Client;

/// The typed client, as a writer of rows.
pub(super) struct Cells {
    client: Client,
    keys: Vec<Bytes>,
    note: String,
}

impl Cells {
    pub(super) fn new(client: Client, count: u32) -> Self {
        Self { client, keys: keys(count), note: "n".repeat(NOTE_BYTES) }
    }
}

impl Writer for Cells {
    async fn write(&self, row: usize) -> Result<()> {
        self.client.cell(&self.keys[row]).put(self.note.clone()).await?;
        Ok(())
    }
}
