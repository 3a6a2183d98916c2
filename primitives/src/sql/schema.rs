//! Transactions beside workflows: the tables before the start, and what a program asks for.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Kernel, Outcome, Store,
    store::{
        StoreError, StoreErrorKind,
        sql::{Script, Scripted},
    },
};

use super::Transaction;
use crate::{CallError, Error};

/// How long the tables may take: nothing else runs yet.
const SCHEMA_LIMIT: Duration = Duration::from_secs(60 * 60);

/// How long a transaction of the program's may take, for nobody else writes meanwhile.
const BESIDE_LIMIT: Duration = Duration::from_secs(10);

/// Runs the statements that make the author's tables.
pub(crate) async fn apply(store: &dyn Store, schema: &str) -> Result<(), Error> {
    let Some(sql) = store.sql() else {
        let message = "tables were given, and this store has no SQL: open it over SQLite";
        return Err(StoreError::new(StoreErrorKind::Unsupported, message).into());
    };
    let statements = schema.to_owned();
    let code = move |sql: &mut dyn drystone_runtime::store::sql::Statements| {
        sql.batch(&statements).map(|()| Bytes::new()).map_err(|fault| Box::new(Outcome::Refused(fault.message)))
    };
    let script = Script { claim: None, limit: SCHEMA_LIMIT, code: Arc::new(code) };
    match sql.transact(&[script]).await?.pop() {
        Some(Scripted::Ended(outcome)) => Err(ended("schema", outcome)),
        _ => Ok(()),
    }
}

/// Runs code in a transaction, beside the entities.
pub(crate) async fn beside<T, E>(
    kernel: &Kernel,
    code: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, CallError<E>>
where
    T: Send + 'static,
    E: Send + 'static,
{
    // What it came to the last time is what is kept: it may be run again if another has spoilt the transaction.
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
        Outcome::Refused(reason) => reason,
        Outcome::Panicked(message) => format!("its code panicked: {message}"),
        _ => "it took too long, and nobody else can write meanwhile".to_owned(),
    };
    Error::Malformed { verb: verb.to_owned(), reason }
}
