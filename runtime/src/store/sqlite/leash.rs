//! What code of an author's may do on the connection that writes, and for how long (W6).
//!
//! SQLite reports every action of a statement while it prepares it. While the author's code runs, `refusal.rs` decides
//! which actions are refused. The hook stays on the connection for good and only a switch is turned, because SQLite
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
    hooks::{AuthContext, Authorization},
};

use super::refusal::Asked;

/// After so many steps of SQLite's machine the time is looked at: some microseconds.
const LOOK_EVERY: i32 = 1_000;

/// What the hooks of a connection know.
#[derive(Clone, Debug, Default)]
pub(super) struct Leash(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_on: AtomicBool,
    until: Mutex<Option<Instant>>,
    /// What the statement that is being prepared asks for.
    asked: Mutex<Asked>,
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

    /// Runs a statement of ours while the author's code runs.
    pub(super) fn lifted<T>(&self, ours: impl FnOnce() -> T) -> T {
        let was_on = self.0.is_on.swap(false, Ordering::Relaxed);
        let answer = ours();
        self.0.is_on.store(was_on, Ordering::Relaxed);
        answer
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

    /// Another statement is about to be prepared.
    pub(super) fn begin_statement(&self) {
        *self.asked() = Asked::default();
    }

    /// Why the statement with this text, which is prepared, must not be executed.
    pub(super) fn refusal_of(&self, sql: &str) -> Option<String> {
        self.asked().refusal_of(sql)
    }

    /// Why SQLite would not prepare the statement, if that was our word.
    pub(super) fn take_refusal(&self) -> Option<String> {
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
