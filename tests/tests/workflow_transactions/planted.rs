//! Bugs that are planted in transactions are found (W6).

use drystone_runtime::{Bug, plant};

use super::*;

/// A step that breaks a constraint, between two bookings.
#[derive(Default, Serialize, Deserialize)]
struct Unlucky;

#[workflow]
impl Unlucky {
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

#[derive(Primitives)]
struct Bugs {
    sale: Sale,
    unlucky: Unlucky,
}

/// W6
#[tokio::test]
async fn bugs_that_are_planted_in_transactions_are_found() {
    for bug in Bug::IN_SQL {
        plant(Some(bug));
        let world = World::sqlite().schema(SCHEMA).start::<Bugs>().await;
        world.crash_at_commit(2, Moment::After);
        let _ = world.client().sale("a").start("ada".into()).await;
        world.advance(d!("2m")).await;
        world.restart().await;
        world.client().unlucky("b").start().await.unwrap();
        world.advance(d!("2m")).await;
        plant(None);
        let rows = ledger(&world).await;
        let is_well = rows == [row("ada", 1), row("ada", 2), row("first", 1), row("second", 1)];
        assert!(!is_well, "{bug:?} was not found");
    }
}
