//! A kernel as a writer of rows: one verb of one definition, over many keys.

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use drystone_runtime::{Call, Kernel, Name};

use super::{adder, births, measuring::callers::Writer};

/// Calls `put` of a definition.
pub(super) struct Kernels {
    kernel: Kernel,
    definition: Name,
    keys: Vec<Bytes>,
    body: Bytes,
}

impl Kernels {
    pub(super) fn new(kernel: Kernel, definition: &'static str, count: u32, body: Bytes) -> Self {
        Self { kernel, definition: definition.into(), keys: (0..count).map(births::key).collect(), body }
    }

    /// A writer of adders, whose calls write 200 bytes each.
    pub(super) fn adders(kernel: Kernel, count: u32) -> Self {
        Self::new(kernel, "adder", count, adder::body())
    }

    pub(super) async fn close(&self) -> Result<()> {
        Ok(self.kernel.shutdown(Duration::from_secs(10)).await?)
    }
}

impl Writer for Kernels {
    async fn write(&self, row: usize) -> Result<()> {
        self.kernel.call(Call::new(self.definition.clone(), self.keys[row].clone(), "put", self.body.clone())).await?;
        Ok(())
    }
}
