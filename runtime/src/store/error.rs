//! Errors of a store, and whether the failed write may have happened.

use std::{error::Error as StdError, fmt, sync::Arc};

/// An error of a store.
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    applied: Applied,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The category of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another connection is writing; try again.
    Busy,
    /// The disk is full, or the quota is used up.
    Full,
    /// The disk or the connection failed.
    Unavailable,
    /// Another engine has the store open (K4).
    Locked,
    /// The store is read-only.
    ReadOnly,
    /// The file is not a store, or it is damaged.
    Corrupt,
    /// The store was made by another version, or does not support the request.
    Unsupported,
    /// The request breaks the contract.
    Misused,
}

/// Whether a write that answered with an error may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The write did not happen and will not happen.
    No,
    /// The write may have happened, or may still happen: read back before acting.
    Unknown,
}

impl StoreError {
    /// Makes an error after which nothing was written.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, applied: Applied::No, message: message.into(), source: None }
    }

    /// Adds the underlying error as the source.
    #[must_use]
    pub fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// Marks that the outcome of the write is unknown.
    #[must_use]
    pub fn outcome_unknown(mut self) -> Self {
        self.applied = Applied::Unknown;
        self
    }

    /// Returns the category of the error.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Returns whether the write may have happened.
    pub fn applied(&self) -> Applied {
        self.applied
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Busy | StoreErrorKind::Full | StoreErrorKind::Unavailable)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}
