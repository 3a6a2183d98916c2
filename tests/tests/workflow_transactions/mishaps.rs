//! Each thing that can go wrong in a transactional step, between two bookings that must stay unharmed (W6).

use super::*;

#[derive(Primitives)]
struct App {
    error: Error,
    panic: Panic,
    long_query: LongQuery,
    long_write: LongWrite,
    rollback: Rollback,
    quiet_rollback: QuietRollback,
    debt: Debt,
    chatter: Chatter,
}

/// A query that never ends.
const FOR_EVER: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)";

/// Checks that both bookings beside the mishap are there.
async fn others_are_unharmed(world: &World<App>, result: &str, said: &str) {
    assert!(result.starts_with("1 1 ") && result.contains(said), "{result}");
    assert_eq!(ledger(world).await, [row("first", 1), row("second", 1)]);
}

/// A step that breaks a constraint.
#[derive(Default, Serialize, Deserialize)]
struct Error;

#[workflow]
impl Error {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.fails(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
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
}

/// W6
#[tokio::test]
async fn an_error_in_a_transaction_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().error("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "NOT NULL constraint failed: ledger.name").await;
    assert_eq!(taken(), ["fails"; 2]);
}

/// A step that panics.
#[derive(Default, Serialize, Deserialize)]
struct Panic;

#[workflow]
impl Panic {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.panics().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    // Where backtraces are printed, the first panic of a program takes seconds.
    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn panics(sql: &mut Transaction<'_>) -> i64 {
        write("wrong", 1, sql).unwrap();
        panic!("out of ink")
    }
}

/// W6
#[tokio::test]
async fn a_panic_in_a_transaction_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().panic("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "Panicked { message: \"out of ink\", attempts: 1 }")
        .await;
    assert!(taken().is_empty());
}

/// A step whose query never ends.
#[derive(Default, Serialize, Deserialize)]
struct LongQuery;

#[workflow]
impl LongQuery {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.reads_for_ever().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 1, timeout = "20ms")]
    fn reads_for_ever(sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
        write("wrong", 1, sql)?;
        sql.query_one(&format!("{FOR_EVER} SELECT count(*) FROM n"), (), |row| row.get(0))
    }
}

/// W6
#[tokio::test]
async fn a_query_that_never_ends_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().long_query("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "TimedOut { attempts: 1 }").await;
    assert!(taken().is_empty());
}

/// A step whose write never ends.
#[derive(Default, Serialize, Deserialize)]
struct LongWrite;

#[workflow]
impl LongWrite {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.writes_for_ever().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 1, timeout = "20ms")]
    fn writes_for_ever(sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        done("writes for ever");
        sql.execute(&format!("INSERT INTO ledger {FOR_EVER} SELECT 'wrong', x FROM n WHERE x < 0"), ())
    }
}

/// W6
#[tokio::test]
async fn a_write_that_never_ends_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().long_write("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "TimedOut { attempts: 1 }").await;
    assert_eq!(taken(), ["writes for ever"]);
}

/// A step that rolls the transaction back and says so.
#[derive(Default, Serialize, Deserialize)]
struct Rollback;

#[workflow]
impl Rollback {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.rolls_back(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 1)]
    fn rolls_back(sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        sql.execute("INSERT INTO account VALUES ('ada')", ())?;
        sql.execute("INSERT OR ROLLBACK INTO account VALUES ('ada')", ())
    }
}

/// W6
#[tokio::test]
async fn a_rollback_in_a_transaction_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().rollback("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "UNIQUE constraint failed: account.name").await;
    assert!(taken().is_empty());
}

/// A step that rolls the transaction back and goes on.
#[derive(Default, Serialize, Deserialize)]
struct QuietRollback;

#[workflow]
impl QuietRollback {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.rolls_back_quietly().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 1)]
    fn rolls_back_quietly(sql: &mut Transaction<'_>) -> String {
        sql.execute("INSERT INTO account VALUES ('ada')", ()).unwrap();
        let _ = sql.execute("INSERT OR ROLLBACK INTO account VALUES ('ada')", ());
        // The write would be durable at once, because the transaction is gone. So it must be refused.
        write("wrong", 1, sql).unwrap_err().to_string()
    }
}

/// W6
#[tokio::test]
async fn a_rollback_that_is_hidden_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().quiet_rollback("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "its code ended the transaction").await;
    assert!(taken().is_empty());
}

/// A step that breaks a constraint that is checked at the commit.
#[derive(Default, Serialize, Deserialize)]
struct Debt;

#[workflow]
impl Debt {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.owes().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    #[step(transaction, max_attempts = 1)]
    fn owes(sql: &mut Transaction<'_>) -> Result<i64, SqlError> {
        sql.execute("INSERT INTO owed VALUES ('nobody')", ())?;
        write("wrong", 1, sql)
    }
}

/// W6
#[tokio::test]
async fn a_deferred_constraint_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().debt("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "cannot be committed: FOREIGN KEY constraint failed")
        .await;
    assert!(taken().is_empty());
}

/// A step whose outcome is too long.
#[derive(Default, Serialize, Deserialize)]
struct Chatter;

#[workflow]
impl Chatter {
    async fn run(flow: &Flow<Self>) -> String {
        let (first, wrong, second) =
            join!(flow.books("first".to_owned()), flow.says_too_much().catch(), flow.books("second".to_owned()));
        format!("{first} {second} {wrong:?}")
    }

    #[step(transaction)]
    fn books(name: String, sql: &mut Transaction<'_>) -> i64 {
        write(&name, 1, sql).unwrap()
    }

    // An unoptimized build on a busy machine needs long to write this much.
    #[step(transaction, max_attempts = 1, timeout = "10s")]
    fn says_too_much(sql: &mut Transaction<'_>) -> String {
        write("wrong", 1, sql).unwrap();
        "x".repeat(2 << 20)
    }
}

/// W6
#[tokio::test]
async fn an_outcome_that_is_too_long_harms_no_other_step() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let (run, before) = (world.client().chatter("a"), world.counts());
    run.start().await.unwrap();
    world.advance(d!("1m")).await;
    let cost = world.counts().since(before);
    assert!(cost.transactions < cost.scripts, "they shared no transaction: {cost:?}");
    others_are_unharmed(&world, &run.result().await.unwrap(), "more than").await;
    assert!(taken().is_empty());
}
