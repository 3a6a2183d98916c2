//! A subject of a measurement: a writer, and the log of its file.

use std::{path::Path, sync::Arc};

use anyhow::Result;

use super::{
    callers::{Callers, Writer},
    measured::Measured,
    wal::Log,
};

/// A writer with its own file.
pub(in crate::load) struct Subject<W> {
    pub(in crate::load) writer: Arc<W>,
    log: Log,
}

impl<W: Writer> Subject<W> {
    pub(in crate::load) fn new(writer: W, path: &Path) -> Result<Self> {
        Ok(Self { writer: Arc::new(writer), log: Log::of(path)? })
    }

    /// Makes one measurement, which begins with an empty log.
    pub(in crate::load) async fn round(&self, callers: Callers) -> Result<Measured> {
        self.log.empty()?;
        callers.drive(&self.writer).await
    }
}
