//! Transactional steps: they write the author's own tables exactly once (W6).
//!
//! - `exactly_once`: wherever the process dies, and what a step costs.
//! - `mishaps`: each thing that can go wrong in a step.
//! - `retries`: an error, its retry, and a run that ends before its step.
//! - `sql`: what the author's SQL reaches, and what its errors say.
//! - `changed`: a step that becomes transactional with the code.
//! - `answers`: a transaction in flight, and one whose answer is lost.
//! - `planted`: bugs that are planted in transactions are found.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

mod answers;
mod changed;
mod exactly_once;
mod mishaps;
#[cfg(feature = "planted")]
mod planted;
mod retries;
mod sql;

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use drystone::{
    CallError, Error, Failure, Fault, Flow, Primitives, RunError, Runtime, SqlError, Transaction, d,
    runtime::store::{Sqlite, SqliteOptions},
    sql::SqlErrorKind,
    testing::{self, CrashError, Disturbance, Latch, Moment, World, crash_everywhere},
    workflow,
    workflow::{Cause, RunPhase, join_all},
};
use drystone_tests::held::Held;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS ledger (name TEXT NOT NULL, cents INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS account (name TEXT NOT NULL PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS owed (name TEXT NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED);
";

thread_local! {
    /// The executions of steps in this test.
    static DONE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn done(what: impl Into<String>) {
    DONE.with_borrow_mut(|done| done.push(what.into()));
}

fn taken() -> Vec<String> {
    DONE.take()
}

fn write(name: &str, cents: u64, sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
    sql.execute("INSERT INTO ledger VALUES (?1, ?2)", (name, cents))?;
    sql.query_one("SELECT sum(cents) FROM ledger WHERE name = ?1", (name,), |row| row.get(0))
}

/// Two bookings with a step in between.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>, name: String) -> Result<i64, Failure> {
        let first = flow.book(name.clone(), 1).await?;
        flow.pack().await;
        Ok(first + flow.book(name, 2).await?)
    }

    #[step(transaction)]
    fn book(name: String, cents: u64, sql: &mut Transaction<'_>) -> Result<i64, Failure> {
        done(format!("{name} {cents}"));
        Ok(write(&name, cents, sql)?)
    }

    #[step]
    async fn pack() {}
}

async fn ledger<A: Primitives>(world: &World<A>) -> Vec<(String, u64)> {
    let read = world.transaction(|sql| {
        sql.query("SELECT name, cents FROM ledger ORDER BY name, cents", (), |row| Ok((row.get(0)?, row.get("cents")?)))
    });
    read.await.unwrap_or_else(|error: CallError<SqlError>| panic!("{error}"))
}

fn row(name: &str, cents: u64) -> (String, u64) {
    (name.to_owned(), cents)
}
