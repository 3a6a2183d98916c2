//! The SQL that an author may run, and the messages that refuse the rest (W6).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Primitives, SqlError, Transaction,
    sql::SqlErrorKind,
    testing::{self, World},
};
use serde::{Deserialize, Serialize};

const LEDGER: &str = "
    CREATE TABLE ledger (name TEXT NOT NULL, cents INTEGER NOT NULL);
    CREATE INDEX ledger_name ON ledger (name);
    CREATE UNIQUE INDEX ledger_both ON ledger (name, cents) WHERE cents > 0;
    ANALYZE ledger;
";

/// An entity that must stay unharmed.
#[derive(Default, Serialize, Deserialize)]
struct Cart {
    items: Vec<String>,
}

#[drystone::primitive(object)]
impl Cart {
    async fn put(&mut self, item: String) -> usize {
        self.items.push(item);
        self.items.len()
    }
}

#[derive(Primitives)]
struct App {
    cart: Cart,
}

async fn world() -> World<App> {
    World::sqlite().schema(LEDGER).start::<App>().await
}

/// Runs the code in a transaction that must succeed, then checks that entities still work.
async fn tried(code: impl Fn(&mut Transaction<'_>) -> Result<(), SqlError> + Send + Sync + 'static) {
    let world = world().await;
    world.transaction(code).await.unwrap();
    assert_eq!(world.client().cart("kim").put("tea".into()).await.unwrap(), 1);
    world.client().cart("kim").destroy().await.unwrap();
}

/// W6
#[tokio::test]
async fn an_author_makes_indexes_and_statistics_of_their_own_tables() {
    tried(|sql| {
        sql.execute("INSERT INTO ledger VALUES ('ada', 1), ('bob', 2)", ())?;
        for statement in [
            "CREATE INDEX ledger_cents ON ledger (cents)",
            "CREATE INDEX ledger_upper ON ledger (upper(name))",
            "REINDEX ledger",
            "REINDEX ledger_cents",
            "ANALYZE ledger",
            "ANALYZE ledger_cents",
            "CREATE TABLE price (item TEXT PRIMARY KEY, cents INTEGER UNIQUE) WITHOUT ROWID",
            "REINDEX price",
            "ANALYZE main.price",
            "DROP INDEX ledger_name",
            "DROP TABLE price",
            "ALTER TABLE ledger RENAME TO book",
            "ALTER TABLE book ADD COLUMN note TEXT",
            "DROP TABLE book",
        ] {
            assert_eq!(sql.execute(statement, ()), Ok(0), "{statement}");
            sql.batch("SELECT 1; SELECT 2").unwrap();
        }
        Ok(())
    })
    .await;
}

/// W6
#[tokio::test]
async fn an_index_of_an_authors_is_used() {
    tried(|sql| {
        let plan = |sql: &mut Transaction<'_>| {
            sql.query_one("EXPLAIN QUERY PLAN SELECT cents FROM ledger WHERE name = 'ada'", (), |row| {
                row.get::<String>("detail")
            })
        };
        assert!(plan(sql)?.contains("USING INDEX ledger_name"), "{}", plan(sql)?);
        sql.execute("INSERT INTO ledger VALUES ('ada', 1), ('bob', 2)", ())?;
        sql.execute("ANALYZE ledger", ())?;
        let statistics = sql.query("SELECT DISTINCT tbl FROM sqlite_stat1", (), |row| row.get::<String>(0))?;
        assert_eq!(statistics, ["ledger"]);
        Ok(())
    })
    .await;
}

/// Refused statements, each with a part of its message.
const REFUSED: &[(&str, &str)] = &[
    (
        "DROP TABLE drystone_entity",
        "`DROP TABLE drystone_entity` is refused: names that begin with `drystone_` are Drystone's own",
    ),
    ("DROP TABLE \"Drystone_Entity\"", "`DROP TABLE drystone_entity` is refused"),
    ("DROP INDEX drystone_entity_due", "`DROP INDEX drystone_entity_due` is refused"),
    ("REINDEX drystone_entity_due", "`REINDEX drystone_entity_due` is refused"),
    ("REINDEX drystone_entity", "`REINDEX "),
    ("REINDEX", "without a name it means every table: name one of yours"),
    ("REINDEX BINARY", "without a name it means every table"),
    ("ANALYZE drystone_entity", "`ANALYZE drystone_entity` is refused"),
    ("ANALYZE drystone_entity_due", "`ANALYZE drystone_entity` is refused"),
    ("ANALYZE", "without a name it means every table: name one of yours"),
    ("CREATE INDEX mine ON drystone_entity (head)", "`CREATE INDEX mine ON drystone_entity` is refused"),
    ("CREATE INDEX drystone_mine ON ledger (cents)", "`CREATE INDEX drystone_mine ON ledger` is refused"),
    ("CREATE TABLE drystone_mine (x)", "`CREATE TABLE drystone_mine` is refused"),
    ("CREATE TABLE Drystone_Mine (x)", "`CREATE TABLE Drystone_Mine` is refused"),
    ("CREATE VIEW drystone_mine AS SELECT 1", "`CREATE VIEW drystone_mine` is refused"),
    ("CREATE VIRTUAL TABLE drystone_mine USING fts5(x)", "`CREATE VIRTUAL TABLE drystone_mine` is refused"),
    (
        "CREATE TRIGGER drystone_mine AFTER INSERT ON ledger BEGIN SELECT 1; END",
        "`CREATE TRIGGER drystone_mine ON ledger` is refused",
    ),
    (
        "CREATE TRIGGER mine AFTER UPDATE ON drystone_row BEGIN SELECT 1; END",
        "`CREATE TRIGGER mine ON drystone_row` is refused",
    ),
    ("UPDATE drystone_entity SET state = '{}'", "`UPDATE drystone_entity SET state` is refused"),
    ("DELETE FROM drystone_row", "`DELETE FROM drystone_row` is refused"),
    ("INSERT INTO drystone_store VALUES ('a', 1)", "`INSERT INTO drystone_store` is refused"),
    ("SELECT state FROM drystone_entity", "`SELECT state FROM drystone_entity` is refused"),
    ("SELECT count(*) FROM drystone_inbox", "FROM drystone_inbox` is refused"),
    ("CREATE TABLE copy AS SELECT * FROM drystone_entity", "drystone_entity` is refused"),
    // SQLite does not report these names when it prepares the statement.
    ("ALTER TABLE ledger RENAME TO drystone_mine", "`ALTER TABLE ledger` is refused, because it names `drystone_mine`"),
    (
        "CREATE TABLE mine (x REFERENCES drystone_entity (status))",
        "`CREATE TABLE mine` is refused, because it names `drystone_entity`",
    ),
    (
        "ALTER TABLE ledger ADD COLUMN x REFERENCES drystone_entity (key)",
        "`ALTER TABLE ledger` is refused, because it names `drystone_entity`",
    ),
    (
        "CREATE VIEW mine AS SELECT * FROM drystone_entity",
        "`CREATE VIEW mine` is refused, because it names `drystone_entity`",
    ),
    (
        "CREATE TRIGGER mine AFTER INSERT ON ledger BEGIN DELETE FROM Drystone_Row; END",
        "because it names `Drystone_Row`",
    ),
    ("CREATE VIRTUAL TABLE mine USING fts5(x, content='drystone_entity')", "because it names `drystone_entity`"),
    // Statistics decide how SQLite searches tables.
    ("INSERT INTO sqlite_stat1 VALUES ('drystone_entity', NULL, '1')", "writes `sqlite_stat1` is refused"),
    ("UPDATE sqlite_stat1 SET tbl = 'drystone_entity'", "writes `sqlite_stat1` is refused"),
    ("DELETE FROM sqlite_stat1", "writes `sqlite_stat1` is refused"),
    ("DROP TABLE sqlite_stat1", "writes `sqlite_stat1` is refused"),
    ("PRAGMA synchronous = OFF", "`PRAGMA synchronous` is refused: the settings of the connection are Drystone's"),
    ("PRAGMA writable_schema = 1", "`PRAGMA writable_schema` is refused"),
    ("SELECT * FROM pragma_table_info('drystone_entity')", "`PRAGMA table_info` is refused"),
    ("BEGIN", "`BEGIN` is refused: Drystone begins and ends the transaction"),
    ("COMMIT", "`COMMIT` is refused"),
    ("ROLLBACK", "`ROLLBACK` is refused"),
    ("SAVEPOINT mine", "`SAVEPOINT mine` is refused"),
    ("RELEASE one_script", "`RELEASE one_script` is refused"),
    ("ROLLBACK TO one_script", "`ROLLBACK TO one_script` is refused"),
    ("ATTACH ':memory:' AS other", "`ATTACH :memory:` is refused: a transaction is about one file"),
    ("DETACH main", "`DETACH main` is refused"),
    ("CREATE TEMP TABLE mine (x)", "`CREATE TEMP TABLE mine` is refused: a transaction has no temporary tables"),
    ("CREATE TEMP VIEW drystone_entity AS SELECT 1", "`CREATE TEMP VIEW drystone_entity` is refused"),
    ("SELECT load_extension('x')", "`load_extension()` is refused"),
];

/// W6
#[tokio::test]
async fn a_refusal_names_the_statement_and_the_object() {
    tried(|sql| {
        for (statement, words) in REFUSED {
            let alone = sql.query(statement, (), |_| Ok(())).unwrap_err();
            let in_batch = sql.batch(&format!("SELECT 1; {statement}; SELECT 2")).unwrap_err();
            for refusal in [alone, in_batch] {
                assert_eq!(refusal.kind(), SqlErrorKind::Refused, "{statement}: {refusal}");
                assert!(refusal.to_string().contains(words), "{statement}: {refusal}");
            }
        }
        // Nothing of it was executed, and the transaction is usable as before.
        assert_eq!(sql.execute("INSERT INTO ledger VALUES ('ada', 1)", ()), Ok(1));
        Ok(())
    })
    .await;
}

/// W6
#[tokio::test]
async fn the_schema_table_is_not_written() {
    tried(|sql| {
        for statement in [
            "DELETE FROM sqlite_master",
            "UPDATE sqlite_schema SET sql = ''",
            "INSERT INTO sqlite_master VALUES ('table', 'drystone_x', 'drystone_x', 0, '')",
        ] {
            let refusal = sql.execute(statement, ()).unwrap_err();
            assert!(refusal.to_string().contains("may not be modified"), "{refusal}");
        }
        Ok(())
    })
    .await;
}

/// W6
#[test]
fn a_foreign_view_or_trigger_reaches_none_of_our_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    testing::block_on(async {
        drop(World::sqlite_at(&path).schema(LEDGER).start::<App>().await);
        let other = rusqlite::Connection::open(&path).unwrap();
        let made = "CREATE VIEW theirs AS SELECT * FROM drystone_entity;
            CREATE TRIGGER mine AFTER INSERT ON ledger BEGIN DELETE FROM drystone_entity; END;";
        other.execute_batch(made).unwrap();
        drop(other);
        let world = World::sqlite_at(&path).start::<App>().await;
        let refused = world.transaction(|sql| {
            let read = sql.query("SELECT * FROM theirs", (), |_| Ok(())).unwrap_err();
            let deleted = sql.execute("INSERT INTO ledger VALUES ('ada', 1)", ()).unwrap_err();
            Ok::<_, SqlError>((read.to_string(), deleted.to_string()))
        });
        let (read, deleted) = refused.await.unwrap();
        assert!(read.contains("FROM drystone_entity` is refused") && read.contains("`theirs`"), "{read}");
        assert!(
            deleted.contains("`DELETE FROM drystone_entity` is refused") && deleted.contains("`mine`"),
            "{deleted}"
        );
    });
}

/// W6
#[test]
fn execute_answers_how_many_rows_the_statement_itself_changed() {
    testing::transaction(|sql| {
        for (statement, rows) in [
            ("CREATE TABLE ledger (name TEXT, cents INTEGER)", 0),
            ("INSERT INTO ledger VALUES ('ada', 1), ('bob', 2)", 2),
            ("CREATE INDEX ledger_name ON ledger (name)", 0),
            ("UPDATE ledger SET cents = 3", 2),
            ("ALTER TABLE ledger ADD COLUMN note TEXT", 0),
            ("DELETE FROM ledger WHERE name = 'eve'", 0),
            ("ANALYZE ledger", 0),
            ("REINDEX ledger", 0),
            ("CREATE TABLE log (name TEXT)", 0),
            ("CREATE TRIGGER logged AFTER DELETE ON ledger BEGIN INSERT INTO log VALUES (old.name); END", 0),
            ("DELETE FROM ledger WHERE name = 'ada'", 1),
            ("ALTER TABLE ledger DROP COLUMN note", 0),
            ("CREATE VIEW rich AS SELECT * FROM ledger", 0),
            ("DROP VIEW rich", 0),
            ("DROP TABLE ledger", 0),
        ] {
            assert_eq!(sql.execute(statement, ()), Ok(rows), "{statement}");
        }
    });
}
