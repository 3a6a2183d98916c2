//! Somebody who is measured: a writer, and the log of its file.

use std::{path::Path, sync::Arc};

use anyhow::Result;

use super::{
    callers::{Callers, Writer},
    measured::Measured,
    wal::Log,
};

/// A writer with a file of its own.
pub(super) struct Subject<W> {
    pub(super) writer: Arc<W>,
    log: Log,
}

impl<W: Writer> Subject<W> {
    pub(super) fn new(writer: W, path: &Path) -> Result<Self> {
        Ok(Self { writer: Arc::new(writer), log: Log::of(path)? })
    }

    /// One measurement, from an empty log.
    pub(super) async fn round(&self, callers: Callers) -> Result<Measured> {
        self.log.empty()?;
        callers.drive(&self.writer).await
    }
}
