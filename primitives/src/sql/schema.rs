//! Transactions outside of workflows: the tables before the start, and the transactions of the program
//! itself.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Kernel, Outcome, Store,
    store::{
        StoreError, StoreErrorKind,
        migration::{Migration, MigrationFault},
        sql::{Script, Scripted, Sql},
    },
};

use super::Transaction;
use crate::{CallError, Error};

/// How long the tables may take. The limit is long because nothing else runs yet.
const SCHEMA_LIMIT: Duration = Duration::from_secs(60 * 60);

/// How long a transaction of the program may take. The limit is short because no other write can happen
/// meanwhile.
const BESIDE_LIMIT: Duration = Duration::from_secs(10);

/// The statements that make the author's tables when the store is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    /// The statements that run at every start.
    pub(crate) schema: Option<String>,
    /// The statements that run once each, before the schema.
    pub(crate) migrations: Option<Vec<Migration>>,
}

impl Tables {
    /// Whether there are any statements.
    pub(crate) fn are_given(&self) -> bool {
        self.schema.is_some() || self.migrations.is_some()
    }

    /// Replaces the migrations: pairs of a name and its statements.
    pub(crate) fn set_migrations<N: Into<String>, S: Into<String>>(&mut self, list: impl IntoIterator<Item = (N, S)>) {
        let made =
            list.into_iter().map(|(name, statements)| Migration { name: name.into(), statements: statements.into() });
        self.migrations = Some(made.collect());
    }

    /// Brings the tables of this store up to date.
    pub(crate) async fn apply(&self, store: &dyn Store) -> Result<(), Error> {
        if !self.are_given() {
            return Ok(());
        }
        let Some(sql) = store.sql() else {
            let message = "tables were given, and this store has no SQL: open it over SQLite";
            return Err(StoreError::new(StoreErrorKind::Unsupported, message).into());
        };
        if let Some(migrations) = &self.migrations {
            let refused =
                |fault: MigrationFault| Error::Malformed { verb: "migrations".to_owned(), reason: fault.to_string() };
            sql.migrate(migrations).await?.map_err(refused)?;
        }
        match &self.schema {
            Some(schema) => apply_schema(sql, schema).await,
            None => Ok(()),
        }
    }
}

async fn apply_schema(sql: &dyn Sql, schema: &str) -> Result<(), Error> {
    let statements = schema.to_owned();
    let code = move |sql: &mut dyn drystone_runtime::store::sql::Statements| {
        sql.batch(&statements).map(|()| Bytes::new()).map_err(|fault| Box::new(Outcome::refused(fault.message)))
    };
    let script = Script { claim: None, fence: None, limit: SCHEMA_LIMIT, code: Arc::new(code) };
    match sql.transact(&[script]).await?.pop() {
        Some(Scripted::Ended(outcome)) => Err(ended("schema", outcome)),
        _ => Ok(()),
    }
}

/// Runs code in a transaction, outside of entities.
pub(crate) async fn beside<T, E>(
    kernel: &Kernel,
    code: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, CallError<E>>
where
    T: Send + 'static,
    E: Send + 'static,
{
    // The last result counts: the code runs again if another script has spoilt the shared transaction.
    let came_to = Arc::new(Mutex::new(None));
    let kept = came_to.clone();
    let script: drystone_runtime::store::sql::ScriptCode = Arc::new(move |statements| {
        let ended = code(&mut Transaction::new(statements));
        let answer = if ended.is_ok() { Ok(Bytes::new()) } else { Err(Box::new(Outcome::Failed(Bytes::new()))) };
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
        answer
    });
    let scripted = kernel.transact(BESIDE_LIMIT, script).await?;
    let came_to = came_to.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (scripted, came_to) {
        (Scripted::Done(_), Some(Ok(value))) => Ok(value),
        (Scripted::Ended(Outcome::Failed(_)), Some(Err(error))) => Err(CallError::Failed(error)),
        (Scripted::Ended(outcome), _) => Err(CallError::Fault(ended("transaction", outcome))),
        _ => Err(CallError::Fault(Error::Closing)),
    }
}

fn ended(verb: &str, outcome: Outcome) -> Error {
    let reason = match outcome {
        Outcome::Refused(refusal) => refusal.to_string(),
        Outcome::Panicked(message) => format!("its code panicked: {message}"),
        _ => "it took too long, and nobody else can write meanwhile".to_owned(),
    };
    Error::Malformed { verb: verb.to_owned(), reason }
}
