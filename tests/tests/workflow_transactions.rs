//! Transactional steps: they write the author's own tables exactly once (W6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use drystone::{
    CallError, Error, Event, Failure, Fault, Flow, Primitives, RunError, Runtime, SqlError, Transaction, d,
    runtime::store::{Sqlite, SqliteOptions},
    sql::SqlErrorKind,
    testing::{self, CrashError, Disturbance, Latch, Moment, Setup, World, crash_everywhere},
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

/// A query that never ends.
const FOR_EVER: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";

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

/// The number of executions of a step that fails at first. Each name is used in only one test.
fn tries(name: &str) -> usize {
    DONE.with_borrow(|done| done.iter().filter(|line| *line == name).count())
}

fn write(name: &str, cents: u64, sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
    sql.execute("INSERT INTO ledger VALUES (?1, ?2)", (name, cents))?;
    sql.query_one("SELECT sum(cents) FROM ledger WHERE name = ?1", (name,), |row| row.get(0))
}

#[derive(Debug, Event, Serialize, Deserialize)]
struct Go;

/// Two bookings with a wait in between.
#[derive(Default, Serialize, Deserialize)]
struct Sale;

#[workflow(events(Go))]
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

/// Everything that can go wrong, between two bookings that must stay unharmed.
#[derive(Default, Serialize, Deserialize)]
struct Mishap;

#[workflow]
impl Mishap {
    async fn run(flow: &Flow<Self>, what: String) -> String {
        let wrong = async {
            match what.as_str() {
                "error" => format!("{:?}", flow.fails().await),
                "panic" => format!("{:?}", flow.panics().catch().await),
                "query" => format!("{:?}", flow.reads_for_ever().catch().await),
                "write" => format!("{:?}", flow.writes_for_ever().catch().await),
                "rollback" => format!("{:?}", flow.rolls_back().await),
                "quiet rollback" => format!("{:?}", flow.rolls_back_quietly().catch().await),
                "deferred" => format!("{:?}", flow.owes().catch().await),
                "long" => format!("{:?}", flow.says_too_much().catch().await),
                other => other.to_owned(),
            }
        };
        let (first, wrong, second) = join!(flow.books("first".to_owned()), wrong, flow.books("second".to_owned()));
        format!("{first} {second} {wrong}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 2)]
    fn fails(sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        done("fails");
        write("wrong", 1, sql)?;
        sql.execute("INSERT INTO ledger VALUES (NULL, 1)", ()).map(drop)
    }

    // Where backtraces are printed, the first panic of a program takes seconds.
    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn panics(sql: &mut Transaction<'_>) -> i64 {
        write("wrong", 1, sql).unwrap();
        panic!("out of ink")
    }

    #[step(transaction, max_attempts = 1, timeout = "20ms")]
    fn reads_for_ever(sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
        write("wrong", 1, sql)?;
        sql.query_one(&format!("{FOR_EVER} SELECT count(*) FROM n"), (), |row| row.get(0))
    }

    #[step(transaction, max_attempts = 1, timeout = "20ms")]
    fn writes_for_ever(sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        done("writes for ever");
        sql.execute(&format!("INSERT INTO ledger {FOR_EVER} SELECT 'wrong', x FROM n WHERE x < 0"), ())
    }

    #[step(transaction, max_attempts = 1)]
    fn rolls_back(sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        sql.execute("INSERT INTO account VALUES ('ada')", ())?;
        sql.execute("INSERT OR ROLLBACK INTO account VALUES ('ada')", ())
    }

    #[step(transaction, max_attempts = 1)]
    fn rolls_back_quietly(sql: &mut Transaction<'_>) -> String {
        sql.execute("INSERT INTO account VALUES ('ada')", ()).unwrap();
        let _ = sql.execute("INSERT OR ROLLBACK INTO account VALUES ('ada')", ());
        // The write would be durable at once, because the transaction is gone. So it must be refused.
        write("wrong", 1, sql).unwrap_err().to_string()
    }

    #[step(transaction, max_attempts = 1)]
    fn owes(sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
        sql.execute("INSERT INTO owed VALUES ('nobody')", ())?;
        write("wrong", 1, sql)
    }

    // An unoptimized build on a busy machine needs long to write this much.
    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn says_too_much(sql: &mut Transaction<'_>) -> String {
        write("wrong", 1, sql).unwrap();
        "x".repeat(2 << 20)
    }
}

/// A booking that fails at first, with a backoff of an hour.
#[derive(Default, Serialize, Deserialize)]
struct Slow;

#[workflow]
impl Slow {
    async fn run(flow: &Flow<Self>, name: String, races: bool) -> Result<i64, Failure> {
        if !races {
            return flow.book(name).await;
        }
        select! {
            booked = flow.book(name) => booked,
            _ = flow.sleep("10m") => Ok(-1),
        }
    }

    #[step(transaction, backoff = "1h")]
    fn book(name: String, sql: &mut Transaction<'_>) -> Result<i64, Failure> {
        done(&name[..1]);
        let sum = write(&name, 1, sql)?;
        if tries(&name[..1]) == 1 { Err("not yet".into()) } else { Ok(sum) }
    }
}

/// Bookings, either all at once or with an undo.
#[derive(Default, Serialize, Deserialize)]
struct Unsold;

#[workflow]
impl Unsold {
    async fn run(flow: &Flow<Self>, count: u64) -> Result<usize, Failure> {
        let booked = join_all((1..=count).map(|cents| flow.book("ada".into(), cents))).await.len();
        if count == 1 { Err("no sale".into()) } else { Ok(booked) }
    }

    #[step(transaction, undo = unbook)]
    fn book(name: String, cents: u64, sql: &mut Transaction<'_>) -> i64 {
        write(&name, cents, sql).unwrap()
    }

    #[step(transaction)]
    fn unbook(name: String, cents: u64, _sum: Option<i64>, sql: &mut Transaction<'_>) {
        done(format!("unbook {name}"));
        write(&name, cents + 100, sql).unwrap();
    }
}

#[derive(Primitives)]
struct App {
    sale: Sale,
    mishap: Mishap,
    slow: Slow,
    unsold: Unsold,
}

async fn started(setup: Setup<()>) -> World<App> {
    taken();
    setup.schema(SCHEMA).start::<App>().await
}

async fn ledger(world: &World<App>) -> Vec<(String, u64)> {
    let read = world.transaction(|sql| {
        sql.query("SELECT name, cents FROM ledger ORDER BY name, cents", (), |row| Ok((row.get(0)?, row.get("cents")?)))
    });
    read.await.unwrap_or_else(|error: CallError<SqlError>| panic!("{error}"))
}

fn row(name: &str, cents: u64) -> (String, u64) {
    (name.to_owned(), cents)
}

/// W6
#[test]
fn a_transactional_step_is_a_function_that_a_test_can_call() {
    let booked = testing::transaction(|sql| {
        sql.batch(SCHEMA).unwrap();
        Sale::book("ada".into(), 7, sql).unwrap();
        Sale::book("ada".into(), 35, sql)
    });
    assert_eq!(booked, Ok(42));
}

/// W6, W9
#[tokio::test]
async fn a_transactional_undo_is_executed_exactly_once_and_at_once() {
    for (n, moment) in (0..8).flat_map(|n| [(n, Moment::Before), (n, Moment::After)]) {
        let world = started(World::sqlite()).await;
        let (run, began) = (world.client().unsold("a"), world.now());
        if n > 0 {
            world.crash_at_commit(n, moment);
        }
        for _ in 0..2 {
            let _ = run.start(1).idempotency_key("start").await;
            world.settle().await;
            world.restart().await;
        }
        let when = format!("death {moment:?} commit {n}");
        assert!(matches!(run.result().await, Err(CallError::Failed(RunError::Failed(_)))), "{when}");
        assert_eq!(world.now(), began, "{when}: nothing waits");
        assert_eq!(ledger(&world).await, [row("ada", 1), row("ada", 101)], "{when}");
    }
}

/// W6, W11, K3
#[tokio::test]
async fn more_transactional_steps_than_may_be_claimed_at_once_are_all_executed_once() {
    let world = started(World::sqlite()).await;
    let run = world.client().unsold("a");
    run.start(450).await.unwrap();
    world.settle().await;
    assert_eq!(run.result().await.unwrap(), 450);
    let expected: Vec<_> = (1..=450).map(|cents| row("ada", cents)).collect();
    assert_eq!(ledger(&world).await, expected);
}

/// W6
#[tokio::test]
async fn a_transactional_step_costs_one_transaction_more_and_leaves_nothing_else_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sales");
    let world = started(World::sqlite_at(&path)).await;
    let before = world.counts();
    let run = world.client().sale("a");
    run.start("ada".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 4);
    let cost = world.counts().since(before);
    assert_eq!((cost.commits, cost.transactions, cost.scripts), (4, 2, 2));
    assert_eq!(ledger(&world).await, [row("ada", 1), row("ada", 2)]);
    assert_eq!(taken(), ["ada 1", "ada 2"]);
    let kept = world
        .transaction(|sql| sql.query("SELECT 1 FROM drystone_row WHERE lane LIKE 'transactions%'", (), |_| Ok(())));
    let refused = kept.await.unwrap_err().failed().unwrap();
    assert_eq!(refused.kind(), SqlErrorKind::Refused, "{refused}");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let left = "SELECT count(*) FROM drystone_row WHERE lane LIKE 'transactions/%'";
    assert_eq!(connection.query_row(left, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

/// X1, W6, fA1
#[tokio::test]
async fn a_crash_at_every_commit_and_every_transaction_of_a_run_books_exactly_once() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let run = world.client().sale("a");
        run.start("ada".into()).await.unwrap();
        (run.result().await.unwrap(), ledger(&world).await)
    });
    assert_eq!(survived.await.unwrap().commits, 6, "four commits, two transactions");
}

/// X1
#[tokio::test]
async fn a_scenario_that_differs_at_a_transaction_is_told_so() {
    let found = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let run = world.client().sale("a");
        run.start("ada".into()).await.unwrap();
        run.result().await.unwrap();
        // A crash sends a script again.
        world.counts().scripts
    });
    let Err(CrashError::Differs(difference)) = found.await else { panic!("a difference was to be found") };
    assert_eq!(difference.disturbance, Disturbance::Crash { commit: 2, moment: Moment::Before });
    assert_eq!(difference.wrote.as_deref(), Some("sale(a) executes `book#1` in a transaction"));
    assert_eq!((difference.expected.as_str(), difference.found.as_str()), ("2", "3"));
}

/// W6
#[tokio::test]
async fn two_deaths_at_any_write_of_a_run_book_exactly_once() {
    for (first, then) in
        [(Moment::Before, Moment::After), (Moment::After, Moment::Before), (Moment::After, Moment::After)]
    {
        for (n, m) in (1..=7).flat_map(|n| (1..=3).map(move |m| (n, m))) {
            let world = started(World::sqlite()).await;
            let run = world.client().sale("a");
            for death in [Some((n, first)), Some((m, then)), None] {
                if let Some((write, moment)) = death {
                    world.crash_at_commit(write, moment);
                }
                let _ = run.start("ada".into()).idempotency_key("start").await;
                world.advance(d!("2m")).await;
                world.restart().await;
            }
            let when = format!("{first:?} write {n}, then {then:?} write {m}");
            assert_eq!(run.result().await.unwrap(), 4, "{when}");
            assert_eq!(ledger(&world).await, [row("ada", 1), row("ada", 2)], "{when}");
        }
    }
}

/// W6
#[tokio::test]
async fn what_goes_wrong_in_a_transaction_is_borne_by_its_own_step() {
    let cases = [
        ("error", "NOT NULL constraint failed: ledger.name"),
        ("panic", "Panicked { message: \"out of ink\", attempts: 1 }"),
        ("query", "TimedOut { attempts: 1 }"),
        ("write", "TimedOut { attempts: 1 }"),
        ("rollback", "UNIQUE constraint failed: account.name"),
        ("quiet rollback", "its code ended the transaction"),
        ("deferred", "cannot be committed: FOREIGN KEY constraint failed"),
        ("long", "more than"),
    ];
    for (what, said) in cases {
        let world = started(World::sqlite()).await;
        let before = world.counts();
        let run = world.client().mishap("a");
        run.start(what.into()).await.unwrap();
        world.advance(d!("1m")).await;
        let result = run.result().await.unwrap();
        assert!(result.starts_with("1 1 ") && result.contains(said), "{what}: {result}");
        assert_eq!(ledger(&world).await, [row("first", 1), row("second", 1)], "{what}");
        let cost = world.counts().since(before);
        assert!(cost.transactions < cost.scripts, "{what}: they shared no transaction: {cost:?}");
        let expected: &[&str] = match what {
            "error" => &["fails", "fails"],
            "write" => &["writes for ever"],
            _ => &[],
        };
        assert_eq!(taken(), expected, "{what}");
    }
}

/// W6, W3
#[tokio::test]
async fn an_error_is_the_steps_own_and_a_retry_begins_with_the_rows_as_they_were() {
    let world = started(World::sqlite()).await;
    let run = world.client().slow("a");
    run.start("ada".into(), false).await.unwrap();
    let status = run.status().await.unwrap().unwrap();
    assert_eq!(status.waits_for[0].last_error.as_ref().unwrap().message(), "not yet");
    assert_eq!(ledger(&world).await, []);
    world.advance(d!("1h")).await;
    assert_eq!(run.result().await.unwrap(), 1);
    assert_eq!(ledger(&world).await, [row("ada", 1)]);
}

/// W6
#[tokio::test]
async fn a_run_that_was_terminated_or_went_on_without_its_step_books_nothing_any_more() {
    let world = started(World::sqlite()).await;
    let (ended, raced) = (world.client().slow("a"), world.client().slow("b"));
    ended.start("ada".into(), false).await.unwrap();
    raced.start("bob".into(), true).await.unwrap();
    ended.terminate().await.unwrap();
    world.advance(d!("3h")).await;
    assert_eq!(raced.result().await.unwrap(), -1);
    assert_eq!(ledger(&world).await, []);
    assert_eq!(taken(), ["a", "b"]);
}

/// W6
#[tokio::test]
async fn over_a_store_without_sql_the_app_is_not_started_and_the_step_is_named() {
    let refused = World::memory().try_start::<App>().await.err().unwrap();
    assert!(
        matches!(&refused, Error::NoSql { definition, work } if definition == "mishap" && work == "books"),
        "{refused:?}"
    );
    let words = "`mishap` has the transactional step `books`, and this store has no SQL: open it over SQLite";
    assert_eq!(refused.to_string(), words);
    assert!(matches!(Runtime::memory().start::<App>().await, Err(Error::NoSql { .. })));
    let tables = World::memory().schema(SCHEMA).try_start::<Plain>().await.err().unwrap();
    assert!(tables.to_string().contains("no SQL"), "{tables}");
}

#[derive(Primitives)]
struct Plain {
    later: before::Later,
}

/// W6
#[tokio::test]
async fn what_is_not_the_authors_is_out_of_reach() {
    let refused = [
        "UPDATE drystone_entity SET state = '{}'",
        "DELETE FROM DRYSTONE_ROW",
        "SELECT count(*) FROM drystone_inbox",
        "SELECT value FROM main.\"Drystone_Store\"",
        "INSERT INTO ledger SELECT key, 1 FROM drystone_remembered",
        "DROP TABLE drystone_partition",
        "ALTER TABLE drystone_config RENAME TO mine",
        "CREATE INDEX mine ON drystone_entity (head)",
        "CREATE TRIGGER mine AFTER UPDATE ON drystone_entity BEGIN DELETE FROM ledger; END",
        "CREATE TABLE drystone_mine (x)",
        "CREATE TEMP TABLE drystone_entity (id)",
        "CREATE TEMP VIEW drystone_row AS SELECT 1",
        "ATTACH ':memory:' AS other",
        "PRAGMA synchronous = OFF",
        "PRAGMA user_version = 7",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT mine",
        "RELEASE one_script",
        "ROLLBACK TO one_script",
        "ANALYZE",
        "REINDEX",
        "VACUUM",
        "SELECT load_extension('x')",
    ];
    let world = started(World::sqlite()).await;
    for statement in refused {
        let tried = world.transaction(move |sql| {
            write("before", 1, sql)?;
            let refused = sql.query(statement, (), |_| Ok(())).unwrap_err();
            let again = sql.batch(statement).unwrap_err();
            write("after", 1, sql)?;
            Ok::<_, SqlError>((refused, again))
        });
        let (refused, again) = tried.await.unwrap();
        let is_refused = |error: &SqlError| {
            error.kind() == SqlErrorKind::Refused || error.to_string().contains("cannot VACUUM from within")
        };
        assert!(is_refused(&refused) && is_refused(&again), "{statement}: {refused:?}, {again:?}");
    }
    assert_eq!(ledger(&world).await.len(), 2 * refused.len());
    // The same text as a statement of Drystone's own, which is kept prepared.
    let ours = "DELETE FROM drystone_entity WHERE id = ?1 AND version = ?2";
    let run = world.client().sale("a");
    run.start("ada".into()).await.unwrap();
    let destroyed = world.client().sale("b");
    destroyed.start("bob".into()).await.unwrap();
    destroyed.destroy().await.unwrap();
    let same = world.transaction(move |sql| sql.execute(ours, (1, 1))).await.unwrap_err().failed().unwrap();
    assert_eq!(same.kind(), SqlErrorKind::Refused);
    assert_eq!(run.result().await.unwrap(), 4);
}

/// W6
#[tokio::test]
async fn statements_say_what_is_wrong_with_them() {
    let world = started(World::sqlite()).await;
    let said = world.transaction(|sql| {
        let mut said = Vec::new();
        let none = sql.query_one("SELECT name FROM ledger", (), |row| row.get::<String>(0));
        said.push(none.unwrap_err());
        write("ada", 1, sql)?;
        write("bob", 1, sql)?;
        said.push(sql.query_one("SELECT name FROM ledger", (), |row| row.get::<String>(0)).unwrap_err());
        said.push(sql.query("SELECT name FROM ledger", (), |row| row.get::<u8>(0)).unwrap_err());
        said.push(sql.query("SELECT name FROM ledger", (), |row| row.get::<u8>("sum")).unwrap_err());
        said.push(sql.execute("INSERT INTO ledger VALUES (?1, ?2)", ("eve", u64::MAX)).unwrap_err());
        said.push(sql.execute("INSERT INTO ledger VALUES (?1, ?2)", ("eve",)).unwrap_err());
        said.push(sql.execute("DELETE FROM ledger; DELETE FROM account", ()).unwrap_err());
        said.push(sql.execute("SELEC 1", ()).unwrap_err());
        said.push(sql.execute("DELETE FROM nowhere", ()).unwrap_err());
        Ok::<_, SqlError>(said.iter().map(|error| format!("{:?}: {error}", error.kind())).collect::<Vec<_>>())
    });
    let said = said.await.unwrap();
    let expected = [
        "Rows: one row was wanted, and there is none",
        "Rows: one row was wanted, and there are 2",
        "Value: the column `name` is text, not an integer",
        "Value: there is no column `sum`; there are: name",
        "Value: 18446744073709551615 does not fit into an integer of SQL's",
        "Statement: Wrong number of parameters passed to query. Got 1, needed 2",
        "Statement: several statements at once: run them as a batch",
        "Statement: near \"SELEC\": syntax error",
        "Statement: no such table: nowhere",
    ];
    assert_eq!(said, expected);
}

/// W6
#[tokio::test]
async fn values_come_back_as_they_were_given_and_tables_are_made_where_they_are_needed() {
    type Given = (Option<String>, bool, f64, Vec<u8>, i64, Option<u8>);
    let world = started(World::sqlite()).await;
    let found = world.transaction(|sql| {
        sql.execute("CREATE TABLE thing (a, b, c, d, e, f)", ())?;
        sql.execute(
            "INSERT INTO thing VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (Some("a'b"), true, 0.5, &[0_u8, 1][..], i64::MIN, None::<u8>),
        )?;
        sql.query_one("SELECT * FROM thing", (), |row| {
            Ok::<Given, _>((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get("f")?))
        })
    });
    assert_eq!(found.await.unwrap(), (Some("a'b".to_owned()), true, 0.5, vec![0, 1], i64::MIN, None));
    world.crash().await;
    world.restart().await;
    let kept = world.transaction(|sql| sql.query_one("SELECT count(*) FROM thing", (), |row| row.get::<i64>(0)));
    assert_eq!(kept.await.unwrap(), 1);
}

/// W6
#[tokio::test]
async fn a_transaction_of_the_programs_fails_as_a_whole() {
    let world = started(World::sqlite()).await;
    let failed = world.transaction(|sql| {
        write("ada", 1, sql).unwrap();
        Err::<(), _>("changed my mind")
    });
    assert_eq!(failed.await.unwrap_err().failed(), Some("changed my mind"));
    let panicked = world.transaction::<(), Failure>(|sql| {
        write("ada", 1, sql).unwrap();
        panic!("out of ink")
    });
    let panicked = panicked.await.unwrap_err();
    assert!(panicked.to_string().contains("its code panicked: out of ink"), "{panicked}");
    assert_eq!(ledger(&world).await, []);
    let wrong = World::sqlite().schema("CREATE TABLE drystone_entity (x)").try_start::<App>().await.err().unwrap();
    assert!(wrong.to_string().starts_with("`schema` is refused:"), "{wrong}");
}

mod before {
    use super::*;

    /// The workflow before its step became transactional.
    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Later;

    #[workflow]
    impl Later {
        async fn run(flow: &Flow<Self>, note: String) -> Result<usize, Failure> {
            flow.book(note).await
        }

        #[step]
        async fn book(note: String) -> Result<usize, Failure> {
            let _ = note;
            std::future::pending().await
        }
    }
}

mod after {
    use super::*;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Later;

    #[workflow]
    impl Later {
        async fn run(flow: &Flow<Self>, note: String) -> Result<usize, Failure> {
            flow.book(note).await
        }

        #[step(transaction)]
        fn book(note: String, sql: &mut Transaction<'_>) -> Result<usize, Failure> {
            write(&note[..3], note.len() as u64, sql)?;
            Ok(note.len())
        }
    }
}

#[derive(Primitives)]
struct New {
    later: after::Later,
}

/// W6, R5
#[tokio::test]
async fn a_step_that_waits_becomes_transactional_with_the_code_and_a_long_input_is_found() {
    let world = World::sqlite().schema(SCHEMA).start::<Plain>().await;
    let notes = [("short", "ada".to_owned()), ("long", "bob".repeat(2_000))];
    for (key, note) in notes.clone() {
        world.client().later(key).start(note).await.unwrap();
    }
    world.crash().await;
    let world = world.restart_as::<New, _>(()).await.unwrap();
    world.advance(d!("1m")).await;
    for (key, note) in notes {
        assert_eq!(world.client().later(key).result().await.unwrap(), note.len());
        let next = format!("{key} again");
        world.client().later(&next).start(note.clone()).await.unwrap();
        assert_eq!(world.client().later(&next).result().await.unwrap(), note.len());
    }
}

/// A runtime on a file, with a store that can be held up.
struct Disk {
    runtime: Runtime<Held1>,
    store: Arc<Held>,
    _folder: tempfile::TempDir,
}

static BOOKED: AtomicU64 = AtomicU64::new(0);

#[derive(Default, Serialize, Deserialize)]
struct Once;

#[workflow]
impl Once {
    async fn run(flow: &Flow<Self>) -> i64 {
        flow.book().await
    }

    #[step(transaction)]
    fn book(sql: &mut Transaction<'_>) -> i64 {
        BOOKED.fetch_add(1, Ordering::Relaxed);
        write("ada", 1, sql).unwrap()
    }
}

#[derive(Primitives)]
struct Held1 {
    once: Once,
}

async fn on_disk() -> Disk {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("held.db"), SqliteOptions::default()).unwrap();
    let store = Arc::new(Held::new(store));
    let runtime = Runtime::store(store.clone()).schema(SCHEMA).start::<Held1>().await.unwrap();
    Disk { runtime, store, _folder: folder }
}

async fn count(disk: &Disk) -> i64 {
    let count = |sql: &mut Transaction<'_>| sql.query_one("SELECT count(*) FROM ledger", (), |row| row.get::<i64>(0));
    disk.runtime.transaction(count).await.unwrap()
}

/// W6, L3
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_terminated_while_its_transaction_is_on_its_way_books_nothing_after_that() {
    let disk = on_disk().await;
    let (come, go): (Latch, Latch) = disk.store.hold();
    let run = disk.runtime.client().once("a");
    run.start().await.unwrap();
    come.wait().await;
    run.terminate().await.unwrap();
    go.open();
    assert_eq!(run.result().await.unwrap_err().failed(), Some(RunError::Terminated));
    assert_eq!(count(&disk).await, 0);
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
}

/// W6, R4
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_whose_answer_was_lost_is_sent_again_and_its_code_is_not_run_again() {
    let disk = on_disk().await;
    let (before, asked) = (BOOKED.load(Ordering::Relaxed), disk.store.asked());
    disk.store.lose_answer();
    let run = disk.runtime.client().once("a");
    run.start().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    assert_eq!((BOOKED.load(Ordering::Relaxed), disk.store.asked()), (before + 1, asked + 2));
    assert_eq!(count(&disk).await, 1);
    disk.store.lose_answer();
    let lost = disk.runtime.transaction(|sql| write("bob", 1, sql)).await.unwrap_err();
    assert!(matches!(lost.fault(), Some(Error::Store(_))), "{lost}");
    assert_eq!(count(&disk).await, 2, "it was kept, and nobody was told");
}

/// W6
#[cfg(feature = "planted")]
#[tokio::test]
async fn bugs_that_are_planted_in_transactions_are_found() {
    use drystone_runtime::{Bug, plant};
    for bug in Bug::IN_SQL {
        plant(Some(bug));
        let world = started(World::sqlite()).await;
        world.crash_at_commit(2, Moment::After);
        let _ = world.client().sale("a").start("ada".into()).await;
        world.advance(d!("2m")).await;
        world.restart().await;
        world.client().mishap("b").start("error".into()).await.unwrap();
        world.advance(d!("2m")).await;
        plant(None);
        let rows = ledger(&world).await;
        let is_well = rows == [row("ada", 1), row("ada", 2), row("first", 1), row("second", 1)];
        assert!(!is_well, "{bug:?} was not found");
    }
}

/// W6, W3
#[tokio::test]
async fn a_fault_in_a_transaction_fails_the_run() {
    let world = World::sqlite().schema(SCHEMA).start::<Faulty>().await;
    let run = world.client().broken("a");
    run.start().await.unwrap();
    let Err(CallError::Failed(RunError::Fault(fault))) = run.result().await else { panic!("it is at fault") };
    assert_eq!(fault, Fault { step: "book#1".into(), cause: Cause::Panicked { message: "no".into(), attempts: 1 } });
}

#[derive(Default, Serialize, Deserialize)]
struct Broken;

#[workflow]
impl Broken {
    async fn run(flow: &Flow<Self>) -> Result<(), Failure> {
        flow.book().await;
        Ok(())
    }

    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn book(_sql: &mut Transaction<'_>) {
        panic!("no")
    }
}

#[derive(Primitives)]
struct Faulty {
    broken: Broken,
}
