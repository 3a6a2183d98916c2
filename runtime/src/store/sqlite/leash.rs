//! What code of an author's may do on the connection that writes, and for how long (W6).
//!
//! SQLite asks us about every action of a statement when it prepares it. While the author's code runs, all that is not about
//! tables of its own is refused: our tables, beginning and ending transactions, settings, other files. Temporary tables are refused because
//! one that is called as ours would stand before it. The hook stays on the connection for good and only a switch is turned, for SQLite
//! prepares all statements anew when a hook is set.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{
    Connection, Error,
    hooks::{AuthAction, AuthContext, Authorization},
};

use super::schema::PREFIX;

/// After so many steps of SQLite's machine the time is looked at: some microseconds.
const LOOK_EVERY: i32 = 1_000;

/// What the hooks of a connection know.
#[derive(Clone, Debug, Default)]
pub(super) struct Leash(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_on: AtomicBool,
    until: Mutex<Option<Instant>>,
}

/// As long as this is there, the author's code is what runs.
pub(super) struct Held<'a>(&'a Leash);

impl Leash {
    /// Puts a connection on it; what we ask ourselves is not touched by it.
    pub(super) fn put_on(&self, connection: &mut Connection) -> Result<(), Error> {
        let leash = self.clone();
        connection.authorizer(Some(move |asked: AuthContext<'_>| leash.judge(&asked)))?;
        let leash = self.clone();
        connection.progress_handler(LOOK_EVERY, Some(move || leash.is_on() && leash.is_over()))
    }

    /// The author's code begins, and may take so long.
    pub(super) fn hold(&self, limit: Duration) -> Held<'_> {
        *self.until() = now().checked_add(limit);
        self.0.is_on.store(true, Ordering::Relaxed);
        Held(self)
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.until().is_some_and(|until| now() >= until)
    }

    fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    fn until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, asked: &AuthContext<'_>) -> Authorization {
        if !self.is_on() || is_allowed(&asked.action) { Authorization::Allow } else { Authorization::Deny }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.is_on.store(false, Ordering::Relaxed);
    }
}

fn is_allowed(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Read { table_name, .. }
        | AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::CreateIndex { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::CreateVtable { table_name, .. }
        | AuthAction::DropVtable { table_name, .. } => !is_ours(table_name),
        AuthAction::CreateView { view_name } | AuthAction::DropView { view_name } => !is_ours(view_name),
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        // Full text tables ask for it.
        AuthAction::Pragma { pragma_name, pragma_value: None } => pragma_name.eq_ignore_ascii_case("data_version"),
        _ => false,
    }
}

/// Whether a table is ours, or holds what SQLite knows of ours.
fn is_ours(table: &str) -> bool {
    let begins = |prefix: &str| table.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix));
    begins(PREFIX) || begins("sqlite_stat")
}

#[expect(clippy::disallowed_methods, reason = "how long a statement takes is real time, whatever clock the kernel has")]
fn now() -> Instant {
    Instant::now()
}
