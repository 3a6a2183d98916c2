//! The error of a call: the author's own error, or a fault.

use std::fmt;

use crate::Error;

/// Why a call did not answer. `Failed` is the author's own error, exactly as the code returned it. `Fault`
/// is everything else: nothing bound, timed out, panicked, the store is down.
#[derive(Clone, Debug)]
pub enum CallError<E> {
    /// The code returned this error. Nothing that the code changed was kept (E5).
    Failed(E),
    /// The call did not come to its end.
    Fault(Error),
}

impl<E> CallError<E> {
    /// Returns the author's own error, if the code returned one.
    pub fn failed(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Fault(_) => None,
        }
    }

    /// Returns the fault, if this is a fault.
    pub fn fault(&self) -> Option<&Error> {
        match self {
            Self::Failed(_) => None,
            Self::Fault(error) => Some(error),
        }
    }

    /// Whether nothing was bound to the key.
    pub fn is_not_bound(&self) -> bool {
        matches!(self, Self::Fault(Error::NotBound { .. }))
    }

    /// Whether the same call may succeed later, without a change by the caller.
    pub fn is_retryable(&self) -> bool {
        self.fault().is_some_and(Error::is_retryable)
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(out),
            Self::Fault(error) => error.fmt(out),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(_) => None,
            Self::Fault(error) => Some(error),
        }
    }
}

impl<E> From<Error> for CallError<E> {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}
