//! The sandbox of an author's code on the writing connection: which statements it may run, and for how long
//! (W6).
//!
//! SQLite reports every action of a statement while it prepares it. While the author's code runs,
//! `refusal.rs` decides which actions are refused. The hook stays on the connection, and only a flag is
//! switched, because SQLite prepares all statements again when a hook is set.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{
    Connection, Error,
    hooks::{AuthContext, Authorization},
};

use super::refusal::Asked;

/// The number of steps of SQLite's virtual machine between two looks at the time, which take some
/// microseconds.
const LOOK_EVERY: i32 = 1_000;

/// The state that the hooks of a connection share.
#[derive(Clone, Debug, Default)]
pub(in crate::store::sqlite) struct Leash(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_on: AtomicBool,
    until: Mutex<Option<Instant>>,
    /// The actions of the statement that is being prepared.
    asked: Mutex<Asked>,
}

/// The sandbox is active while this guard exists.
pub(in crate::store::sqlite) struct Held<'a>(&'a Leash);

impl Leash {
    /// Installs the hooks on a connection. Our own statements are not affected, because the sandbox is off
    /// while they run.
    pub(in crate::store::sqlite) fn put_on(&self, connection: &mut Connection) -> Result<(), Error> {
        let leash = self.clone();
        connection.authorizer(Some(move |asked: AuthContext<'_>| leash.judge(&asked)))?;
        let leash = self.clone();
        connection.progress_handler(LOOK_EVERY, Some(move || leash.is_on() && leash.is_over()))
    }

    /// Activates the sandbox for the author's code, with a time limit.
    pub(in crate::store::sqlite) fn hold(&self, limit: Duration) -> Held<'_> {
        *self.until() = now().checked_add(limit);
        // Relaxed is enough: the hooks run on the thread that holds the connection, which is this one.
        self.0.is_on.store(true, Ordering::Relaxed);
        Held(self)
    }

    /// Runs a statement of ours in the middle of the author's code, with the sandbox switched off.
    pub(in crate::store::sqlite) fn lifted<T>(&self, ours: impl FnOnce() -> T) -> T {
        let was_on = self.0.is_on.swap(false, Ordering::Relaxed);
        let answer = ours();
        self.0.is_on.store(was_on, Ordering::Relaxed);
        answer
    }

    /// Whether the time limit has passed.
    pub(in crate::store::sqlite) fn is_over(&self) -> bool {
        self.until().is_some_and(|until| now() >= until)
    }

    fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    fn until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.0.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the actions of the previous statement; called before the next one is prepared.
    pub(in crate::store::sqlite) fn begin_statement(&self) {
        *self.asked() = Asked::default();
    }

    /// Returns why the prepared statement with this text must not be executed, if it is refused.
    pub(in crate::store::sqlite) fn refusal_of(&self, sql: &str) -> Option<String> {
        self.asked().refusal_of(sql)
    }

    /// Takes the reason why SQLite did not prepare the statement, if it was a refusal of ours.
    pub(in crate::store::sqlite) fn take_refusal(&self) -> Option<String> {
        self.asked().take_refusal()
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, asked: &AuthContext<'_>) -> Authorization {
        if !self.is_on() || self.asked().allows(asked) { Authorization::Allow } else { Authorization::Deny }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.is_on.store(false, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a statement takes is real time, whatever clock the kernel has")]
fn now() -> Instant {
    Instant::now()
}
