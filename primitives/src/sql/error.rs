//! The error of a statement.

use drystone_runtime::store::sql::{SqlFault, SqlFaultKind};
use serde::{Deserialize, Serialize};

/// Why a statement failed. The error can be a step's error, and `?` turns it into a
/// [`Failure`](crate::Failure).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    kind: SqlErrorKind,
    message: String,
}

/// The sort of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SqlErrorKind {
    /// The statement breaks a constraint: unique, not null, check, a foreign key.
    Constraint,
    /// The statement is not allowed in a transaction: it names a table of Drystone's, or it begins, ends or
    /// configures something.
    Refused,
    /// The transaction sends more than it may: 1,000 messages, 4 MiB in all, 1 MiB each.
    Limit,
    /// The time for the transaction is over.
    TimedOut,
    /// The store failed. The code runs again, whatever it does with this error.
    Store,
    /// The statement cannot be parsed, names something that does not exist, or takes other parameters.
    Statement,
    /// A value does not fit: a number outside the range of SQL's integers, or a column that is missing or
    /// has another type.
    Value,
    /// One row was wanted, but the query found no row, or several rows.
    Rows,
}

impl SqlError {
    pub(super) fn new(kind: SqlErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the sort of the error.
    pub fn kind(&self) -> SqlErrorKind {
        self.kind
    }

    /// Whether the statement breaks a constraint.
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
