//! What can go wrong in a store, and what is known of the damage.

use std::{error::Error as StdError, fmt, sync::Arc};

/// An error of a store.
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    applied: Applied,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What sort of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Somebody else is writing; try again.
    Busy,
    /// The disk is full, or the quota used up.
    Full,
    /// The disk or the connection failed.
    Unavailable,
    /// Another engine has the store open (K4).
    Locked,
    /// The store may not be written.
    ReadOnly,
    /// The file is not a store, or is damaged.
    Corrupt,
    /// The store was made by another version, or cannot do what is asked.
    Unsupported,
    /// The request breaks the contract.
    Misused,
}

/// Whether a write may have happened although it answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It did not happen, and will not.
    No,
    /// It may have happened, or may yet: read back before acting.
    Unknown,
}

impl StoreError {
    /// An error after which nothing was written.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, applied: Applied::No, message: message.into(), source: None }
    }

    /// With the error behind it.
    #[must_use]
    pub fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The same, when it is not known whether the write happened.
    #[must_use]
    pub fn outcome_unknown(mut self) -> Self {
        self.applied = Applied::Unknown;
        self
    }

    /// What sort it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the write may have happened.
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
