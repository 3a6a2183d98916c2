//! Migrations of the author's own tables: each is applied once, in order, and recorded (W12).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::path::{Path, PathBuf};

use drystone::{
    Event, Failure, Flow, Primitives, Transaction,
    testing::{Moment, World},
    workflow,
};
use serde::{Deserialize, Serialize};

const LEDGER: (&str, &str) =
    ("0001_ledger", "CREATE TABLE ledger (cents INTEGER NOT NULL); INSERT INTO ledger VALUES (1);");
const NAMES: (&str, &str) = ("0002_names", "ALTER TABLE ledger ADD COLUMN name TEXT NOT NULL DEFAULT 'ada'");

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// A sale with a booking that needs the second migration.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow(events(Go))]
impl Sale {
    async fn run(flow: &Flow<Self>) -> Result<i64, Failure> {
        flow.wait_for::<Go>().await;
        flow.book().await
    }

    #[step(transaction, max_attempts = 1)]
    fn book(sql: &mut Transaction<'_>) -> Result<i64, Failure> {
        sql.execute("INSERT INTO ledger (cents, name) VALUES (2, 'bob')", ())?;
        Ok(sql.query_one("SELECT sum(cents) FROM ledger", (), |row| row.get(0))?)
    }
}

#[derive(Primitives)]
struct App {
    sale: Sale,
}

/// A database file in a folder of its own.
struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        Self { _folder: folder, path }
    }
}

async fn opened(path: &Path, migrations: &[(&str, &str)]) -> World<App> {
    World::sqlite_at(path).migrations(migrations.iter().copied()).start::<App>().await
}

async fn refusal(path: &Path, migrations: &[(&str, &str)]) -> String {
    let started = World::sqlite_at(path).migrations(migrations.iter().copied()).try_start::<App>().await;
    started.err().expect("these migrations are refused").to_string()
}

async fn numbers(world: &World<App>, query: &'static str) -> Vec<i64> {
    let asked = world.transaction(move |sql| sql.query(query, (), |row| row.get::<i64>(0))).await;
    asked.map_err(|error| error.to_string()).unwrap()
}

/// W12
#[tokio::test]
async fn a_migration_is_applied_once_in_the_life_of_a_file() {
    let file = File::new();
    let world = opened(&file.path, &[LEDGER]).await;
    world.restart().await;
    drop(world);
    let world = opened(&file.path, &[LEDGER, NAMES]).await;
    world.restart().await;
    assert_eq!(numbers(&world, "SELECT cents FROM ledger WHERE name = 'ada'").await, [1]);
}

/// W12
#[tokio::test]
async fn migrations_are_applied_before_any_run_goes_on() {
    let file = File::new();
    let world = opened(&file.path, &[LEDGER]).await;
    world.client().sale("7").start().await.unwrap();
    world.crash_at_commit(1, Moment::After);
    // The process dies after the commit in which the run asks for its booking.
    world.client().sale("7").send(Go).await.unwrap_err();
    drop(world);
    let world = opened(&file.path, &[LEDGER, NAMES]).await;
    assert_eq!(world.client().sale("7").result().await.unwrap(), 3);
}

/// W12
#[tokio::test]
async fn a_list_that_contradicts_what_was_applied_is_refused() {
    let file = File::new();
    drop(opened(&file.path, &[LEDGER, NAMES]).await);
    let changed = (NAMES.0, "ALTER TABLE ledger ADD COLUMN other TEXT");
    let third = ("0003_more", "CREATE TABLE more (a)");
    let words = refusal(&file.path, &[LEDGER, changed, third]).await;
    assert!(words.contains("`0002_names` was applied to this file and has been changed since"), "{words}");
    let words = refusal(&file.path, &[LEDGER]).await;
    assert!(words.contains("`0002_names` was applied to this file and is not in the list"), "{words}");
    let words = refusal(&file.path, &[NAMES, LEDGER]).await;
    assert!(words.contains("`0001_ledger` was applied to this file, and `0002_names` stands at its place"), "{words}");
    let words = refusal(&file.path, &[LEDGER, NAMES, NAMES]).await;
    assert!(words.contains("two migrations `0002_names`"), "{words}");
    // No migration of a refused list was applied.
    let world = opened(&file.path, &[LEDGER, NAMES, third]).await;
    assert_eq!(numbers(&world, "SELECT count(*) FROM more").await, [0]);
}

/// W12
#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_and_is_named() {
    let file = File::new();
    let broken = ("0002_names", "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);");
    let words = refusal(&file.path, &[LEDGER, broken]).await;
    assert!(words.contains("`0002_names` failed") && words.contains("nowhere"), "{words}");
    for statements in ["PRAGMA user_version = 7", "INSERT INTO drystone_migration VALUES (9, 'x', 1)", "COMMIT"] {
        let words = refusal(&file.path, &[LEDGER, ("0002_names", statements)]).await;
        assert!(words.contains("`0002_names` failed"), "{words}");
    }
    // The earlier migration stays applied, and the mended one follows it.
    let world = opened(&file.path, &[LEDGER, NAMES]).await;
    assert_eq!(numbers(&world, "SELECT cents FROM ledger WHERE name = 'ada'").await, [1]);
    let half = world.transaction(|sql| sql.query("SELECT a FROM half", (), |row| row.get::<i64>(0))).await;
    assert!(half.is_err());
}

/// W12
#[tokio::test]
async fn migrations_come_before_the_schema() {
    let schema = "CREATE VIEW IF NOT EXISTS total AS SELECT sum(cents) AS cents FROM ledger";
    let world = World::sqlite().migrations([LEDGER]).schema(schema).start::<App>().await;
    world.transaction(|sql| sql.execute("INSERT INTO ledger VALUES (4)", ())).await.unwrap();
    assert_eq!(numbers(&world, "SELECT cents FROM total").await, [5]);
}

/// W12
#[tokio::test]
async fn migrations_over_a_store_without_sql_are_refused() {
    let started = World::memory().migrations([LEDGER]).try_start::<App>().await;
    let words = started.err().expect("there is no SQL").to_string();
    assert!(words.contains("has no SQL"), "{words}");
}
