//! Translates errors of SQLite for the kernel. The types of the library never leave this folder.

use rusqlite::{Error, ErrorCode};

use crate::store::{StoreError, StoreErrorKind, Verdict};

/// Converts an error of the library, after which nothing was written.
pub(super) fn failure(error: Error) -> StoreError {
    let kind = kind(&error);
    StoreError::new(kind, format!("{}: {error}", meaning(kind))).because(error)
}

/// Why a write ends early: a verdict on that write alone, or an error that ends the whole batch.
pub(super) enum Fault {
    Verdict(Verdict),
    Sql(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        // Only the data of this write can break a constraint or be too big, so the other writes proceed.
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
                Self::Verdict(Verdict::Refused(error.to_string()))
            }
            None if matches!(error, Error::ToSqlConversionFailure(_)) => {
                Self::Verdict(Verdict::Refused(error.to_string()))
            }
            _ => Self::Sql(error),
        }
    }
}

fn kind(error: &Error) -> StoreErrorKind {
    match error {
        Error::ToSqlConversionFailure(_) => StoreErrorKind::Misused,
        // Our statements fit the tables that we made, and we read only what we wrote. Any other error
        // therefore means a damaged file.
        _ => error.sqlite_error_code().map_or(StoreErrorKind::Corrupt, kind_of_code),
    }
}

fn kind_of_code(code: ErrorCode) -> StoreErrorKind {
    match code {
        ErrorCode::DiskFull => StoreErrorKind::Full,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreErrorKind::Busy,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreErrorKind::Corrupt,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreErrorKind::ReadOnly,
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory => StoreErrorKind::Unavailable,
        ErrorCode::FileLockingProtocolFailed | ErrorCode::OperationInterrupted => StoreErrorKind::Unavailable,
        // Outside of a write, only the sequence of epochs has a constraint: all epochs are used up.
        ErrorCode::ConstraintViolation => StoreErrorKind::Unsupported,
        // A table or column is missing, so the file is not as we made it.
        _ => StoreErrorKind::Corrupt,
    }
}

fn meaning(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Full => "the disk is full, or the file as large as it may be",
        StoreErrorKind::Busy => "another connection is writing to the file",
        StoreErrorKind::Corrupt => "the file is damaged, or is no store; restore it, or try `sqlite3 <file> .recover`",
        StoreErrorKind::ReadOnly => "the file may not be written",
        StoreErrorKind::Unavailable => "the disk failed, or the file cannot be opened",
        _ => "the store refused",
    }
}

/// Whether the connection with this error must not be used any more.
pub(super) fn poisons(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::Corrupt)
}
