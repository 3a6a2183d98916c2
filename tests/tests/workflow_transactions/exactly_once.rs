//! A transactional step is executed exactly once, wherever the process dies (W6).

use super::*;

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
    unsold: Unsold,
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
        let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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
async fn more_steps_than_can_be_claimed_at_once_are_executed_once() {
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
    let run = world.client().unsold("a");
    run.start(450).await.unwrap();
    world.settle().await;
    assert_eq!(run.result().await.unwrap(), 450);
    let expected: Vec<_> = (1..=450).map(|cents| row("ada", cents)).collect();
    assert_eq!(ledger(&world).await, expected);
}

/// W6
#[tokio::test]
async fn a_transactional_step_costs_one_transaction_and_leaves_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sales");
    let world = World::sqlite_at(&path).schema(SCHEMA).start::<App>().await;
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
async fn a_crash_at_every_commit_and_transaction_books_exactly_once() {
    let survived = crash_everywhere(async |setup| {
        let world = setup.schema(SCHEMA).start::<App>().await;
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
        let world = setup.schema(SCHEMA).start::<App>().await;
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
            let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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
