//! Runs the statements of an author's code on the writing connection, inside the [sandbox](super::sandbox).

use rusqlite::{
    Batch, CachedStatement, Connection, Error, ErrorCode, Statement, ToSql,
    fallible_iterator::FallibleIterator,
    params_from_iter,
    types::{ToSqlOutput, ValueRef},
};

use super::sandbox::Leash;
use crate::{
    Key, Millis,
    store::{
        Outgoing,
        sql::{EachRow, SqlFault, SqlFaultKind, SqlValue, Statements},
        sqlite::apply::put_message,
    },
};

/// The prefix of an author's statements. Prepared statements are cached by their text, and our own are
/// prepared without restrictions. The prefix keeps an author who writes the same text from getting one of
/// ours; none of ours begins with it.
const MARK: &str = "/* script */ ";

/// A transaction as the author's code sees it.
pub(in crate::store::sqlite) struct Author<'a> {
    connection: &'a Connection,
    leash: &'a Leash,
    /// An error of the store itself, which is no failure of the code.
    pub(in crate::store::sqlite) trouble: Option<Error>,
}

impl<'a> Author<'a> {
    pub(in crate::store::sqlite) fn new(connection: &'a Connection, leash: &'a Leash) -> Self {
        Self { connection, leash, trouble: None }
    }

    /// Checks before each statement that the time is not over and the transaction is still open. Outside of a
    /// transaction, a write would be committed at once.
    fn may_go_on(&self) -> Result<(), SqlFault> {
        if self.leash.is_over() {
            return Err(SqlFault::new(SqlFaultKind::TimedOut, "the time for this transaction is over"));
        }
        if self.connection.is_autocommit() {
            return Err(SqlFault::new(SqlFaultKind::Refused, "the transaction was ended by an earlier statement"));
        }
        Ok(())
    }

    fn fault(&mut self, error: Error) -> SqlFault {
        if let Some(refusal) = self.leash.take_refusal() {
            return SqlFault::new(SqlFaultKind::Refused, refusal);
        }
        let code = error.sqlite_error_code();
        let message = message(&error);
        if code.is_some_and(is_trouble) {
            self.trouble = Some(error);
            return SqlFault::new(SqlFaultKind::Store, message);
        }
        match code {
            Some(ErrorCode::OperationInterrupted) => {
                SqlFault::new(SqlFaultKind::TimedOut, "the time for this transaction is over")
            }
            Some(ErrorCode::ConstraintViolation) => SqlFault::new(SqlFaultKind::Constraint, message),
            _ => SqlFault::new(SqlFaultKind::Statement, message),
        }
    }

    fn prepare(&mut self, sql: &str) -> Result<CachedStatement<'a>, SqlFault> {
        self.may_go_on()?;
        self.leash.begin_statement();
        let prepared = self.connection.prepare_cached(&format!("{MARK}{sql}"));
        let statement = prepared.map_err(|error| self.fault(error))?;
        if let Some(refusal) = self.leash.refusal_of(sql) {
            statement.discard();
            return Err(SqlFault::new(SqlFaultKind::Refused, refusal));
        }
        Ok(statement)
    }

    /// Executes one statement of a batch and ignores its rows.
    fn step_through(&self, mut statement: Statement<'_>) -> Result<Option<String>, Error> {
        let refusal = statement.expanded_sql().and_then(|sql| self.leash.refusal_of(&sql));
        if refusal.is_none() {
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
        }
        Ok(refusal)
    }
}

impl Statements for Author<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault> {
        let mut statement = self.prepare(sql)?;
        let before = self.connection.total_changes();
        let changed = statement.execute(params_from_iter(values)).map_err(|error| self.fault(error))?;
        // After a data definition, SQLite still returns the count of the previous statement.
        Ok(if self.connection.total_changes() == before { 0 } else { changed })
    }

    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault> {
        let statement = self.prepare(sql)?;
        queried(statement, values, each).map_err(|error| self.fault(error))?
    }

    fn batch(&mut self, sql: &str) -> Result<(), SqlFault> {
        let mut statements = Batch::new(self.connection, sql);
        loop {
            self.may_go_on()?;
            self.leash.begin_statement();
            let Some(statement) = statements.next().map_err(|error| self.fault(error))? else { return Ok(()) };
            if let Some(refusal) = self.step_through(statement).map_err(|error| self.fault(error))? {
                return Err(SqlFault::new(SqlFaultKind::Refused, refusal));
            }
        }
    }

    fn put_message(&mut self, from: &Key, now: Millis, message: &Outgoing) -> Result<(), SqlFault> {
        self.may_go_on()?;
        let put = self.leash.lifted(|| put_message(self.connection, from, now, message));
        put.map_err(|error| self.fault(error))
    }
}

fn queried(
    mut statement: CachedStatement<'_>,
    values: &[SqlValue],
    each: &mut EachRow<'_>,
) -> Result<Result<(), SqlFault>, Error> {
    #[allow(clippy::useless_conversion, reason = "in older versions of the library it is no iterator yet")]
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let read = |index| row.get_ref(index).and_then(value);
        let values = (0..names.len()).map(read).collect::<Result<Vec<_>, _>>()?;
        if let Err(fault) = each(&names, values) {
            return Ok(Err(fault));
        }
    }
    Ok(Ok(()))
}

/// Whether the store, and not the statement, caused the error.
fn is_trouble(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DiskFull
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed
    )
}

/// Returns the message of the library without the statement's text, which would contain our prefix.
fn message(error: &Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::MultipleStatement => "several statements at once: run them as a batch".to_owned(),
        Error::ExecuteReturnedResults => "it returns rows: query them".to_owned(),
        other => other.to_string(),
    }
}

fn value(found: ValueRef<'_>) -> Result<SqlValue, Error> {
    Ok(match found {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Blob(bytes.to_vec()),
    })
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
