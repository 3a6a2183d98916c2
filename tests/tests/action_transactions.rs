//! Transactional actions: `#[action(transaction)]` writes the author's tables exactly once (W6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Call, CallError, Client, Error, Primitives, SqlError, Transaction, d,
    dead_letters::Filter,
    primitive,
    testing::{Moment, Setup, World, crash_everywhere},
};
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS ledger (account TEXT NOT NULL, cents INTEGER NOT NULL);";

/// The errors of an account.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refused {
    Overdrawn,
    Sql(String),
}

impl From<SqlError> for Refused {
    fn from(error: SqlError) -> Self {
        Self::Sql(error.to_string())
    }
}

/// An account that writes each booking as a row.
#[derive(Default, Serialize, Deserialize)]
struct Account {
    cents: i64,
}

#[primitive(object)]
impl Account {
    /// Writes a booking and returns the new balance.
    #[action(transaction)]
    fn book(&mut self, cents: i64, account: String, sql: &mut Transaction<'_>) -> Result<i64, Refused> {
        self.cents += cents;
        sql.execute("INSERT INTO ledger VALUES (?1, ?2)", (account, cents))?;
        if self.cents < 0 {
            return Err(Refused::Overdrawn);
        }
        Ok(self.cents)
    }

    /// Returns the number of rows after writing one.
    #[action(transaction, timeout = "5s")]
    fn count(&self, sql: &mut Transaction<'_>) -> Result<i64, Refused> {
        sql.execute("INSERT INTO ledger VALUES ('counted', ?1)", (self.cents,))?;
        Ok(sql.query_one("SELECT count(*) FROM ledger", (), |row| row.get(0))?)
    }

    /// Writes a booking, then panics.
    #[action(transaction)]
    fn break_down(&mut self, sql: &mut Transaction<'_>) -> Result<(), Refused> {
        sql.execute("INSERT INTO ledger VALUES ('broken', 1)", ())?;
        panic!("out of paper");
    }

    /// Sends the whole balance to another account.
    #[action(transaction)]
    fn empty(&mut self, to: String, accounts: &Client<Account>, sql: &mut Transaction<'_>) -> Result<(), Refused> {
        let cents = std::mem::take(&mut self.cents);
        sql.execute("INSERT INTO ledger VALUES ('emptied', ?1)", (-cents,))?;
        sql.send(accounts.get(&to).book(cents, to.clone()))?;
        Ok(())
    }

    /// An ordinary action.
    async fn double(&mut self) {
        self.cents *= 2;
    }
}

/// An account that no call can bind.
#[derive(Serialize, Deserialize)]
struct Closed {
    cents: i64,
}

#[primitive(object)]
impl Closed {
    #[action(transaction)]
    fn book(&mut self, sql: &mut Transaction<'_>) -> Result<i64, Refused> {
        sql.execute("INSERT INTO ledger VALUES ('closed', 1)", ())?;
        self.cents += 1;
        Ok(self.cents)
    }
}

/// A seat for a guest. An empty seat is `null` in JSON.
#[derive(Default, Serialize, Deserialize)]
struct Seat(Option<String>);

#[primitive(object)]
impl Seat {
    /// Sets the guest of the seat and returns the new one.
    #[action(transaction)]
    fn set(&mut self, guest: Option<String>, sql: &mut Transaction<'_>) -> Result<Option<String>, Refused> {
        sql.execute("INSERT INTO ledger VALUES ('seat', ?1)", (i64::from(guest.is_some()),))?;
        self.0 = guest;
        Ok(self.0.clone())
    }
}

/// An object that sends bookings to accounts with its commit.
#[derive(Default, Serialize, Deserialize)]
struct Clerk;

#[primitive(object)]
impl Clerk {
    async fn order(&mut self, account: String, cents: i64, accounts: &Client<Account>) {
        accounts.send(accounts.get(&account).book(cents, account.clone()));
    }
}

#[derive(Primitives)]
struct App {
    account: Account,
    closed: Closed,
    clerk: Clerk,
    seat: Seat,
}

async fn started(setup: Setup<()>) -> World<App> {
    setup.schema(SCHEMA).start::<App>().await
}

async fn ledger(world: &World<App>) -> Vec<(String, i64)> {
    let read = world.transaction(|sql| {
        sql.query("SELECT account, cents FROM ledger ORDER BY account, cents", (), |row| Ok((row.get(0)?, row.get(1)?)))
    });
    read.await.unwrap()
}

fn row(account: &str, cents: i64) -> (String, i64) {
    (account.to_owned(), cents)
}

/// W6, X1: with every call made twice, and with a crash before and after each write.
#[tokio::test]
async fn an_action_writes_its_rows_exactly_once_wherever_it_crashes() {
    let survived = crash_everywhere(async |setup| {
        let world = started(setup).await;
        let account = world.client().account("a");
        let first = account.book(100, "a".to_owned()).await;
        account.double().await.unwrap();
        let second = account.book(-50, "a".to_owned()).await;
        let refused = account.book(-1_000, "a".to_owned()).await;
        let counted = account.count().await;
        account.empty("b".to_owned()).await.unwrap();
        world.settle().await;
        let left = account.state().await.unwrap().map(|account| account.cents);
        let other = world.client().account("b").state().await.unwrap().map(|account| account.cents);
        let told = format!("{first:?} {second:?} {refused:?} {counted:?}");
        assert_eq!(told, "Ok(100) Ok(150) Err(Failed(Overdrawn)) Ok(3)");
        assert_eq!((left, other), (Some(0), Some(150)));
        let rows = ledger(&world).await;
        assert_eq!(rows, [row("a", -50), row("a", 100), row("b", 150), row("counted", 150), row("emptied", -150)]);
        (told, rows)
    });
    survived.await.unwrap();
}

/// W6.3, E12: the caller's process dies while the action runs, and the caller repeats the call.
#[tokio::test]
async fn a_repeat_after_a_crash_gets_the_answer_of_the_first() {
    // The writes are: the record, the transaction, and the end.
    for (write, moment) in (1..=3).flat_map(|write| [(write, Moment::Before), (write, Moment::After)]) {
        let world = started(World::sqlite()).await;
        let account = world.client().account("a");
        world.crash_at_commit(write, moment);
        let first = account.book(5, "a".to_owned()).idempotency_key("k").await;
        world.restart().await;
        let second = account.book(5, "a".to_owned()).idempotency_key("k").await;
        let third = account.book(5, "a".to_owned()).idempotency_key("k").await;
        let when = format!("{moment:?} write {write}: {first:?}");
        assert_eq!((second.unwrap(), third.unwrap()), (5, 5), "{when}");
        assert_eq!(ledger(&world).await, [row("a", 5)], "{when}");
    }
}

/// E12: Also while the first is being recorded.
#[tokio::test]
async fn a_repeat_that_asks_for_something_else_is_refused() {
    for (write, moment) in [(1, Moment::After), (2, Moment::After), (3, Moment::After)] {
        let world = started(World::sqlite()).await;
        let account = world.client().account("a");
        world.crash_at_commit(write, moment);
        drop(account.book(5, "a".to_owned()).idempotency_key("k").await);
        world.restart().await;
        let other = account.book(6, "a".to_owned()).idempotency_key("k").await;
        assert!(matches!(other, Err(CallError::Fault(Error::IdempotencyMismatch { .. }))), "{write}: {other:?}");
        world.settle().await;
        assert_eq!(ledger(&world).await, [row("a", 5)]);
    }
}

/// W6.1, W6.3, E5, E6
#[tokio::test]
async fn an_action_that_fails_or_panics_leaves_nothing() {
    let world = started(World::sqlite()).await;
    let account = world.client().account("a");
    account.book(10, "a".to_owned()).await.unwrap();
    let overdrawn = account.book(-11, "a".to_owned()).await;
    assert!(matches!(overdrawn, Err(CallError::Failed(Refused::Overdrawn))), "{overdrawn:?}");
    let panicked = account.break_down().await;
    assert!(matches!(panicked, Err(CallError::Fault(Error::Panicked { .. }))), "{panicked:?}");
    assert_eq!(account.state().await.unwrap().unwrap().cents, 10);
    assert_eq!(ledger(&world).await, [row("a", 10)]);
}

/// W6: JSON's `null` is a value, as an answer and as a state.
#[tokio::test]
async fn an_action_may_leave_nothing_as_its_answer_and_its_state() {
    let world = started(World::sqlite()).await;
    let seat = world.client().seat("1a");
    assert_eq!(seat.set(Some("ada".to_owned())).await.unwrap().as_deref(), Some("ada"));
    assert_eq!(seat.set(None).await.unwrap(), None);
    assert!(seat.state().await.unwrap().unwrap().0.is_none());
}

/// E1
#[tokio::test]
async fn an_action_binds_a_key_only_if_its_state_is_default() {
    let world = started(World::sqlite()).await;
    let closed = world.client().closed("a");
    let unbound = closed.book().await;
    assert!(matches!(unbound, Err(CallError::Fault(Error::NotBound { .. }))), "{unbound:?}");
    assert!(ledger(&world).await.is_empty());
    closed.start_with(Closed { cents: 1 }).await.unwrap();
    assert_eq!(closed.book().await.unwrap(), 2);
    let counted = world.client().account("nobody").count().await;
    assert!(matches!(counted, Err(CallError::Fault(Error::NotBound { .. }))), "{counted:?}");
}

/// E3: many callers at once on one key.
#[tokio::test]
async fn actions_of_one_key_run_one_at_a_time() {
    let world = started(World::sqlite()).await;
    let account = world.client().account("a");
    let calls = (1..=40).map(|_| {
        let call: Call<i64, Refused> = account.book(1, "a".to_owned());
        tokio::spawn(call.into_future())
    });
    let mut balances = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        balances.push(call.await.unwrap().unwrap());
    }
    balances.sort_unstable();
    assert_eq!(balances, (1..=40).collect::<Vec<i64>>());
    assert_eq!(ledger(&world).await.len(), 40);
}

/// W6.3, M1, M4
#[tokio::test]
async fn a_message_runs_an_action_or_becomes_a_dead_letter() {
    let world = started(World::sqlite()).await;
    let clerk = world.client().clerk("c");
    clerk.order("a".to_owned(), 7).await.unwrap();
    world.settle().await;
    assert_eq!(ledger(&world).await, [row("a", 7)]);
    clerk.order("a".to_owned(), -8).await.unwrap();
    world.settle().await;
    assert_eq!(ledger(&world).await, [row("a", 7)]);
    let dead = world.dead_letters().list(Filter::default()).await.unwrap().letters;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].key.as_str(), dead[0].attempts), ("a", 3));
    // The dead letter has everything that a replay needs.
    world.client().account("a").book(10, "a".to_owned()).await.unwrap();
    world.dead_letters().replay(dead[0].id).await.unwrap();
    world.settle().await;
    assert_eq!(ledger(&world).await, [row("a", -8), row("a", 7), row("a", 10)]);
}

/// W6: the table in ARCHITECTURE.md.
#[tokio::test]
async fn an_action_costs_two_commits_and_a_transaction() {
    let world = started(World::sqlite()).await;
    let account = world.client().account("a");
    account.book(1, "a".to_owned()).await.unwrap();
    let before = world.counts();
    account.book(2, "a".to_owned()).await.unwrap();
    let cost = world.counts().since(before);
    assert_eq!((cost.commits, cost.transactions, cost.entities, cost.rows, cost.read_calls), (2, 1, 2, 2, 1));
}

/// W6.3, R8: at most 256 calls of a key wait for their transactions.
#[tokio::test]
async fn more_calls_than_may_wait_are_told_so() {
    let world = started(World::sqlite()).await;
    let account = world.client().account("a");
    account.book(0, "a".to_owned()).await.unwrap();
    let calls = (0..400).map(|_| tokio::spawn(account.book(1, "a".to_owned()).into_future()));
    let (mut booked, mut refused) = (0, 0);
    for call in calls.collect::<Vec<_>>() {
        match call.await.unwrap() {
            Ok(_) => booked += 1,
            Err(error) => {
                assert!(matches!(error, CallError::Fault(Error::Overloaded { .. })), "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(booked >= 256 && refused > 0, "{booked} were booked and {refused} refused");
    assert_eq!(account.state().await.unwrap().unwrap().cents, booked);
    assert_eq!(ledger(&world).await.len() as i64, booked + 1);
}

/// E8
#[tokio::test]
async fn an_entity_that_ends_runs_no_action_any_more() {
    let world = started(World::sqlite()).await;
    let account = world.client().account("a");
    account.book(1, "a".to_owned()).await.unwrap();
    let (booked, destroyed) = tokio::join!(account.book(2, "a".to_owned()), account.destroy());
    assert!(destroyed.unwrap());
    let rows = ledger(&world).await;
    match booked {
        Ok(balance) => assert_eq!((balance, rows.len()), (3, 2)),
        Err(error) => {
            assert!(matches!(error, CallError::Fault(Error::Destroyed { .. })), "{error:?}");
            // Rows that were durable before the end stay, and no row is added later.
            world.advance(d!("1m")).await;
            assert_eq!(ledger(&world).await, rows);
        }
    }
}

/// W6
#[tokio::test]
async fn over_a_store_without_sql_the_start_is_refused_with_the_action() {
    let words = World::memory().try_start::<App>().await.err().expect("there is no SQL").to_string();
    assert!(words.contains("account") && words.contains("book"), "{words}");
}
