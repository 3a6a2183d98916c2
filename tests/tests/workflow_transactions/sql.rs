//! The SQL of the author: the tables within reach, and the errors (W6).

use super::*;

#[derive(Primitives)]
struct App {
    sale: Sale,
}

/// A workflow without a transactional step.
#[derive(Default, Serialize, Deserialize)]
struct Nap;

#[workflow]
impl Nap {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1m").await;
    }
}

#[derive(Primitives)]
struct Plain {
    nap: Nap,
}

/// W6: The error names the step.
#[tokio::test]
async fn over_a_store_without_sql_the_app_does_not_start() {
    let refused = World::memory().try_start::<App>().await.err().unwrap();
    assert!(
        matches!(&refused, Error::NoSql { definition, work } if definition == "sale" && work == "book"),
        "{refused:?}"
    );
    let words = "`sale` has the transactional step `book`, and this store has no SQL: open it over SQLite";
    assert_eq!(refused.to_string(), words);
    assert!(matches!(Runtime::memory().start::<App>().await, Err(Error::NoSql { .. })));
    let tables = World::memory().schema(SCHEMA).try_start::<Plain>().await.err().unwrap();
    assert!(tables.to_string().contains("no SQL"), "{tables}");
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
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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

/// W6: Tables can be created where they are needed.
#[tokio::test]
async fn values_come_back_as_they_were_given() {
    type Given = (Option<String>, bool, f64, Vec<u8>, i64, Option<u8>);
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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
    let world = World::sqlite().schema(SCHEMA).start::<App>().await;
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
