//! Decides which statements of an author are refused, and words the messages (W6).
//!
//! SQLite reports every action of a statement while it prepares it. Most refusals follow from a single
//! action. Two follow from the prepared statement as a whole: a definition (`CREATE`, `ALTER`) that mentions
//! one of our names, because SQLite does not report the new name of a table or the target of a foreign key;
//! and a write to SQLite's statistics by any statement but `ANALYZE` and `DROP`.

use rusqlite::hooks::{AuthAction, AuthContext, TransactionOperation};

use crate::store::sqlite::file::schema::PREFIX;

/// The prefix of indexes that SQLite makes for `PRIMARY KEY` and `UNIQUE`; the name of the table follows.
const AUTOINDEX: &str = "sqlite_autoindex_";

/// The prefix of SQLite's statistics tables. They decide how tables are searched, including ours.
const STATISTICS: &str = "sqlite_stat";

/// The actions of one statement, as far as they matter once it is prepared.
#[derive(Debug, Default)]
pub(in crate::store::sqlite) struct Asked {
    refusal: Option<String>,
    /// The data definition in the statement: `CREATE TABLE ledger`.
    definition: Option<String>,
    /// The statistics table that the statement writes.
    statistics: Option<String>,
    may_write_statistics: bool,
}

impl Asked {
    /// Whether SQLite may perform this action.
    pub(in crate::store::sqlite) fn allows(&mut self, asked: &AuthContext<'_>) -> bool {
        self.note(&asked.action);
        let Some(mut words) = refusal(&asked.action) else { return true };
        if let Some(accessor) = asked.accessor {
            words.push_str(&format!(" (`{accessor}` is the trigger or view that asks)"));
        }
        self.refusal.get_or_insert(words);
        false
    }

    fn note(&mut self, action: &AuthAction<'_>) {
        match action {
            AuthAction::Insert { table_name }
            | AuthAction::Update { table_name, .. }
            | AuthAction::Delete { table_name }
            | AuthAction::CreateTable { table_name }
            | AuthAction::DropTable { table_name }
                if begins(table_name, STATISTICS) =>
            {
                self.statistics.get_or_insert_with(|| (*table_name).to_owned());
            }
            AuthAction::Analyze { .. } | AuthAction::DropTable { .. } | AuthAction::DropIndex { .. } => {
                self.may_write_statistics = true;
            }
            AuthAction::CreateTable { .. }
            | AuthAction::CreateIndex { .. }
            | AuthAction::CreateTrigger { .. }
            | AuthAction::CreateView { .. }
            | AuthAction::CreateVtable { .. }
            | AuthAction::AlterTable { .. } => {
                self.definition.get_or_insert_with(|| statement(action));
            }
            _ => {}
        }
    }

    /// Returns why the statement with this text is refused, once all its actions are known.
    pub(in crate::store::sqlite) fn refusal_of(&mut self, sql: &str) -> Option<String> {
        if let (Some(table), false) = (&self.statistics, self.may_write_statistics) {
            return Some(format!(
                "a statement that writes `{table}` is refused: only `ANALYZE` writes SQLite's statistics"
            ));
        }
        let name = name_of_ours_in(sql)?;
        let definition = self.definition.as_ref()?;
        Some(format!("`{definition}` is refused, because it names `{name}`: {OURS}"))
    }

    /// Takes the reason of the first refused action.
    pub(in crate::store::sqlite) fn take_refusal(&mut self) -> Option<String> {
        self.refusal.take()
    }
}

const OURS: &str = "names that begin with `drystone_` are Drystone's own";

fn refusal(action: &AuthAction<'_>) -> Option<String> {
    let because = |why: &str| Some(format!("`{}` is refused: {why}", statement(action)));
    match action {
        AuthAction::Select | AuthAction::Recursive => None,
        AuthAction::Analyze { .. } | AuthAction::Reindex { .. } if names(action).any(is_ours) => {
            because(&format!("{OURS}; without a name it means every table: name one of yours"))
        }
        AuthAction::Read { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::CreateTable { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::AlterTable { .. }
        | AuthAction::CreateIndex { .. }
        | AuthAction::DropIndex { .. }
        | AuthAction::CreateTrigger { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::DropView { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::DropVtable { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Analyze { .. } => {
            if names(action).any(is_ours) {
                because(OURS)
            } else {
                None
            }
        }
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            because("a transaction loads no code")
        }
        AuthAction::Function { .. } => None,
        // Full-text tables need this pragma.
        AuthAction::Pragma { pragma_name, pragma_value: None } if is(pragma_name, "data_version") => None,
        AuthAction::Pragma { .. } => because("the settings of the connection are Drystone's"),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            because("Drystone begins and ends the transaction")
        }
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => because("a transaction is about one file"),
        AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. } => because("a transaction has no temporary tables; make one that stays"),
        _ => because("it is not for a transaction"),
    }
}

/// Returns the names in an action that could be names of our tables or indexes.
fn names<'a>(action: &AuthAction<'a>) -> impl Iterator<Item = &'a str> {
    let (name, table) = match *action {
        AuthAction::Read { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::Analyze { table_name }
        | AuthAction::CreateVtable { table_name, .. }
        | AuthAction::DropVtable { table_name, .. } => (Some(table_name), None),
        AuthAction::CreateIndex { index_name, table_name } | AuthAction::DropIndex { index_name, table_name } => {
            (Some(index_name), Some(table_name))
        }
        AuthAction::CreateTrigger { trigger_name, table_name }
        | AuthAction::DropTrigger { trigger_name, table_name } => (Some(trigger_name), Some(table_name)),
        AuthAction::CreateView { view_name } | AuthAction::DropView { view_name } => (Some(view_name), None),
        AuthAction::Reindex { index_name } => (Some(index_name), None),
        _ => (None, None),
    };
    name.into_iter().chain(table)
}

/// Describes an action as a statement with the object that it concerns.
fn statement(action: &AuthAction<'_>) -> String {
    match action {
        AuthAction::Read { table_name, column_name: "" } => format!("SELECT .. FROM {table_name}"),
        AuthAction::Read { table_name, column_name } => format!("SELECT {column_name} FROM {table_name}"),
        AuthAction::Insert { table_name } => format!("INSERT INTO {table_name}"),
        AuthAction::Update { table_name, column_name } => format!("UPDATE {table_name} SET {column_name}"),
        AuthAction::Delete { table_name } => format!("DELETE FROM {table_name}"),
        AuthAction::CreateTable { table_name } => format!("CREATE TABLE {table_name}"),
        AuthAction::DropTable { table_name } => format!("DROP TABLE {table_name}"),
        AuthAction::AlterTable { table_name, .. } => format!("ALTER TABLE {table_name}"),
        AuthAction::CreateIndex { index_name, table_name } => format!("CREATE INDEX {index_name} ON {table_name}"),
        AuthAction::DropIndex { index_name, .. } => format!("DROP INDEX {index_name}"),
        AuthAction::CreateTrigger { trigger_name, table_name } => {
            format!("CREATE TRIGGER {trigger_name} ON {table_name}")
        }
        AuthAction::DropTrigger { trigger_name, .. } => format!("DROP TRIGGER {trigger_name}"),
        AuthAction::CreateView { view_name } => format!("CREATE VIEW {view_name}"),
        AuthAction::DropView { view_name } => format!("DROP VIEW {view_name}"),
        AuthAction::CreateVtable { table_name, .. } => format!("CREATE VIRTUAL TABLE {table_name}"),
        AuthAction::DropVtable { table_name, .. } => format!("DROP TABLE {table_name}"),
        AuthAction::Reindex { index_name } => format!("REINDEX {index_name}"),
        AuthAction::Analyze { table_name } => format!("ANALYZE {table_name}"),
        AuthAction::Pragma { pragma_name, .. } => format!("PRAGMA {pragma_name}"),
        AuthAction::Function { function_name } => format!("{function_name}()"),
        other => other_statement(other),
    }
}

fn other_statement(action: &AuthAction<'_>) -> String {
    match action {
        AuthAction::CreateTempTable { table_name } => format!("CREATE TEMP TABLE {table_name}"),
        AuthAction::CreateTempIndex { index_name, .. } => format!("CREATE INDEX temp.{index_name}"),
        AuthAction::CreateTempTrigger { trigger_name, .. } => format!("CREATE TEMP TRIGGER {trigger_name}"),
        AuthAction::CreateTempView { view_name } => format!("CREATE TEMP VIEW {view_name}"),
        AuthAction::Transaction { operation: TransactionOperation::Begin } => "BEGIN".to_owned(),
        AuthAction::Transaction { operation: TransactionOperation::Rollback } => "ROLLBACK".to_owned(),
        AuthAction::Transaction { .. } => "COMMIT".to_owned(),
        AuthAction::Savepoint { operation: TransactionOperation::Begin, savepoint_name } => {
            format!("SAVEPOINT {savepoint_name}")
        }
        AuthAction::Savepoint { operation: TransactionOperation::Rollback, savepoint_name } => {
            format!("ROLLBACK TO {savepoint_name}")
        }
        AuthAction::Savepoint { savepoint_name, .. } => format!("RELEASE {savepoint_name}"),
        AuthAction::Attach { filename } => format!("ATTACH {filename}"),
        AuthAction::Detach { database_name } => format!("DETACH {database_name}"),
        other => format!("{other:?}"),
    }
}

fn is_ours(name: &str) -> bool {
    let table = if begins(name, AUTOINDEX) { &name[AUTOINDEX.len()..] } else { name };
    begins(table, PREFIX)
}

fn begins(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|begin| is(begin, prefix))
}

fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Returns the first word of a statement that has the prefix of our names.
fn name_of_ours_in(sql: &str) -> Option<&str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    sql.split(|letter| !is_word(letter)).find(|word| begins(word, PREFIX))
}
