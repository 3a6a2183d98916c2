//! Why a statement did not come to its end.

use drystone_runtime::store::sql::{SqlFault, SqlFaultKind};
use serde::{Deserialize, Serialize};

/// Why a statement did not come to its end. It can be a step's error, and `?` makes a [`Failure`](crate::Failure) of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    kind: SqlErrorKind,
    message: String,
}

/// What sort of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SqlErrorKind {
    /// It breaks a constraint: unique, not null, check, a foreign key.
    Constraint,
    /// It is not for a transaction: it names a table of Drystone's, or begins, ends or configures something.
    Refused,
    /// It sends more than a transaction may: 1,000 messages, 4 MiB in all, 1 MiB each.
    Limit,
    /// The time for the transaction is over.
    TimedOut,
    /// The store is in trouble: whatever the code makes of it, it is executed again.
    Store,
    /// The statement cannot be read, names what is not there, or takes other parameters.
    Statement,
    /// A value does not fit: a number that SQL's integers do not hold, a column of another type or that is not there.
    Value,
    /// One row was wanted, and there is none, or there are several.
    Rows,
}

impl SqlError {
    pub(super) fn new(kind: SqlErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What sort it is.
    pub fn kind(&self) -> SqlErrorKind {
        self.kind
    }

    /// Whether it breaks a constraint.
    pub fn is_constraint(&self) -> bool {
        self.kind == SqlErrorKind::Constraint
    }
}

impl From<SqlFault> for SqlError {
    fn from(fault: SqlFault) -> Self {
        let kind = match fault.kind {
            SqlFaultKind::Constraint => SqlErrorKind::Constraint,
            SqlFaultKind::Refused => SqlErrorKind::Refused,
            SqlFaultKind::TimedOut => SqlErrorKind::TimedOut,
            SqlFaultKind::Limit => SqlErrorKind::Limit,
            SqlFaultKind::Store => SqlErrorKind::Store,
            _ => SqlErrorKind::Statement,
        };
        Self::new(kind, fault.message)
    }
}
