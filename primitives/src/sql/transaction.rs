//! A transaction, as author code has it.

use std::fmt;

use drystone_runtime::store::sql::{SqlFault, SqlFaultKind, Statements};

use super::{SqlError, SqlErrorKind, SqlParams, SqlRow};
use crate::{Call, Client, Desk, PartOf, Primitive, context::Outbox};

/// A transaction in the file of the app: its writes are kept as a whole, or not at all. See [the
/// module](super).
///
/// In a unit test, [`testing::transaction`](crate::testing::transaction) makes one.
pub struct Transaction<'a> {
    statements: &'a mut (dyn Statements + 'a),
    /// The desk for calls from an entity's code; `None` outside of entities.
    desk: Option<Desk>,
    /// The messages that the code sends by its clients.
    outbox: Outbox,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(statements: &'a mut (dyn Statements + 'a)) -> Self {
        Self { statements, desk: None, outbox: Outbox::default() }
    }

    /// The transaction of an entity's code.
    pub(crate) fn inside(statements: &'a mut (dyn Statements + 'a), desk: Desk) -> Self {
        Self { desk: Some(desk), ..Self::new(statements) }
    }

    /// Returns the client of another primitive of the app, for macro-generated code.
    #[doc(hidden)]
    pub fn client<T: PartOf<A> + Primitive, A>(&self) -> Client<T> {
        let desk = self.desk.clone().unwrap_or_else(Desk::body);
        Client::in_transaction(self.outbox.clone(), desk, T::NAME)
    }

    /// Ends the code: adds the messages that it sent by its clients to the transaction.
    pub(crate) fn finish(self) -> Result<(), SqlError> {
        let said = self.outbox.take_said();
        if let Some(reason) = said.error {
            return Err(SqlError::new(SqlErrorKind::Value, reason));
        }
        said.send.into_iter().try_for_each(|message| self.statements.send(message)).map_err(Into::into)
    }

    /// Runs one statement. Returns how many rows it changed: 0 for a definition, such as `CREATE TABLE`.
    pub fn execute(&mut self, sql: &str, params: impl SqlParams) -> Result<usize, SqlError> {
        Ok(self.statements.execute(sql, &params.values()?)?)
    }

    /// Runs one statement and returns the rows.
    ///
    /// ```
    /// # drystone::testing::transaction(|sql| {
    /// sql.execute("CREATE TABLE ledger (name TEXT, cents INTEGER)", ())?;
    /// sql.execute("INSERT INTO ledger VALUES (?1, ?2), ('bob', 7)", ("ada", 42))?;
    /// let all = sql.query("SELECT * FROM ledger WHERE cents > ?1", (5,), |row| {
    ///     Ok((row.get::<String>("name")?, row.get::<u64>(1)?))
    /// })?;
    /// assert_eq!(all, [("ada".to_owned(), 42), ("bob".to_owned(), 7)]);
    /// # Ok::<(), drystone::SqlError>(()) }).unwrap();
    /// ```
    pub fn query<T>(
        &mut self,
        sql: &str,
        params: impl SqlParams,
        mut read: impl FnMut(&SqlRow<'_>) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let (mut found, mut unread) = (Vec::new(), None);
        let asked = self.statements.query(sql, &params.values()?, &mut |names, values| {
            let row = SqlRow::new(names, values);
            found.push(read(&row).map_err(|error| {
                unread = Some(error);
                SqlFault::new(SqlFaultKind::Statement, "a row cannot be read")
            })?);
            Ok(())
        });
        match (asked, unread) {
            (Err(_), Some(error)) => Err(error),
            (Err(fault), None) => Err(fault.into()),
            (Ok(()), _) => Ok(found),
        }
    }

    /// Runs one statement and returns its only row; no row or several rows are an error.
    pub fn query_one<T>(
        &mut self,
        sql: &str,
        params: impl SqlParams,
        read: impl FnMut(&SqlRow<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let mut found = self.query(sql, params, read)?;
        match (found.pop(), found.len()) {
            (Some(row), 0) => Ok(row),
            (None, _) => Err(SqlError::new(SqlErrorKind::Rows, "one row was wanted, and there is none")),
            (Some(_), more) => {
                let message = format!("one row was wanted, and there are {}", more + 1);
                Err(SqlError::new(SqlErrorKind::Rows, message))
            }
        }
    }

    /// Sends a call as a message, as a part of this transaction. The message is delivered, once, if and only
    /// if the writes of the transaction are kept (M6). The answer is dropped.
    ///
    /// Outside of entities, make the call by `Runtime::client`:
    /// `sql.send(client.mails("out").enqueue(mail))`, the start of a run, an event for a run,
    /// `client.publish(event)`. A transactional step or hook takes a `mails: &Client<Mails>`:
    /// `sql.send(mails.get("out").enqueue(mail))`, or `mails.send(..)`.
    ///
    /// A transaction sends 1,000 messages at most, 4 MiB in all. In a rehearsal
    /// ([`testing::transaction`](crate::testing::transaction)) nothing is sent.
    pub fn send<T, E>(&mut self, call: Call<T, E>) -> Result<(), SqlError> {
        let message = call.into_message();
        let message = message.map_err(|error| SqlError::new(SqlErrorKind::Value, error.to_string()))?;
        Ok(self.statements.send(message)?)
    }

    /// Runs several statements without parameters: `CREATE TABLE ..; CREATE INDEX ..;`
    pub fn batch(&mut self, sql: &str) -> Result<(), SqlError> {
        Ok(self.statements.batch(sql)?)
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Transaction")
    }
}
