//! A plain entity: the author's actions, and an optional alarm.
//!
//! ```
//! use drystone::{Context, Never, primitive};
//!
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Session {
//!     user: Option<String>,
//! }
//!
//! #[primitive(object, max_attempts = 3, retry = "1m")]
//! impl Session {
//!     /// Signs in, for an hour.
//!     async fn sign_in(&mut self, user: String, cx: &Context) {
//!         self.user = Some(user);
//!         cx.alarm_in("1h");
//!     }
//!
//!     /// Who is signed in.
//!     async fn user(&self) -> Option<String> {
//!         self.user.clone()
//!     }
//!
//!     #[alarm]
//!     async fn expire(&mut self) -> Result<(), Never> {
//!         self.user = None;
//!         Ok(())
//!     }
//! }
//! ```
//!
//! - The alarm is a part of the action's commit; setting it replaces the one before (A1). It never rings early (A2).
//! - It stands until its hook has ended: after a crash it rings again. The hook may set the next one.
//! - A failing hook is executed up to `max_attempts` times (3) with `retry` between (1 minute); then the object is in
//!   `error`, its state kept, until an action sets the alarm anew (A3).

#[cfg(test)]
mod model;

use std::{fmt, marker::PhantomData, ops::Deref, time::Duration};

use drystone_runtime::Status as Standing;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, Handle, Primitive, Retry, Timestamp,
    author::{Given, TakenBy},
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
    literal,
};

/// The options of `#[primitive(object, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    max_attempts: u32,
    retry: Retry,
    timeout_ms: Option<u64>,
}

impl Options {
    /// The defaults: an alarm that fails is tried 3 times, a minute apart.
    pub const NEW: Self = Self { max_attempts: 3, retry: Retry::parse("1m"), timeout_ms: None };

    /// How often a failing `#[alarm]` is executed in all.
    #[track_caller]
    pub const fn max_attempts(mut self, attempts: u64) -> Self {
        self.max_attempts = literal::count_u32(attempts);
        self
    }

    /// How long to wait between those executions: `"1m"`, `"1s..1m"`.
    #[track_caller]
    pub const fn retry(mut self, pause: &str) -> Self {
        self.retry = Retry::parse(pause);
        self
    }

    /// [`retry`](Self::retry) from a constant: pauses of any form.
    pub const fn retry_with(mut self, plan: Retry) -> Self {
        self.retry = plan;
        self
    }

    /// How long one execution of `#[alarm]` may take, `"30s"`; for ever unless said. One that takes longer has failed.
    #[track_caller]
    pub const fn timeout(mut self, limit: &str) -> Self {
        self.timeout_ms = Some(literal::some_duration(limit).as_millis() as u64);
        self
    }

    /// [`timeout`](Self::timeout) from a constant.
    #[track_caller]
    pub const fn timeout_with(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(literal::millis(limit));
        self
    }

    /// The options, once all are set: any are fine.
    pub const fn checked(self) -> Self {
        self
    }
}

/// The hook: `#[alarm] async fn rang(&mut self) -> Result<(), E>`.
#[expect(non_camel_case_types, reason = "the compiler's messages show it as the author writes it")]
#[derive(Debug)]
pub enum alarm {}

impl TakenBy<alarm> for () {
    fn take(_: Given) -> Result<Self, String> {
        Ok(())
    }
}

/// Where an object stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// When its alarm is due.
    pub alarm: Option<Timestamp>,
    /// How often its alarm has failed since it last succeeded.
    pub failures: u32,
    /// Whether the alarm was given up.
    pub has_failed: bool,
    /// Its last error.
    pub error: Option<Failure>,
}

/// What is kept of an object beside its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Alarms that were handled.
    rung: u64,
    /// Alarms that have ended: handled, given up, or replaced after a failure. The next has the number after it, so that no
    /// two share a name.
    #[serde(default)]
    ended: u64,
    #[serde(default)]
    failures: u32,
    #[serde(default)]
    has_failed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl Kind for Options {
    const NAME: &'static str = "object";
    const VERBS: &'static [&'static str] = &[];
    const AUTHOR_SETS_ALARM: bool = true;

    type Record = Record;
    type Status = Status;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.set_status(Standing::resting("idle"));
    }

    fn verb(&self, _: &mut Turn<'_, Record>, verb: &str, _: &[u8]) -> Result<Answer, Stop> {
        Err(Stop::Malformed(format!("an object has no verb `{verb}`")))
    }

    /// The alarm stands until its hook has ended: a crash rings it again.
    fn alarm(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        if !turn.has_hook("alarm") {
            turn.set_alarm(None);
        }
        Ok(())
    }

    fn done(&self, turn: &mut Turn<'_, Record>, piece: &Done, ended: Ended) -> Result<(), Stop> {
        let record = &mut turn.record;
        match ended {
            Ended::Ok => {
                *record = Record { rung: record.rung + 1, ended: record.ended + 1, ..Record::default() };
                turn.set_alarm(None);
                turn.set_status(Standing::resting("idle"));
            }
            Ended::Failed(error) => {
                record.failures = piece.attempt;
                record.error = Some(error);
                let seed = record.rung;
                let pause = self.retry.pause_after(piece.attempt, seed).filter(|_| piece.attempt < self.max_attempts);
                match pause {
                    Some(pause) => {
                        let at = turn.now.after(pause);
                        turn.set_alarm(Some(at));
                    }
                    None => give_up(turn),
                }
            }
            Ended::Exhausted(error) => {
                record.error = Some(error);
                give_up(turn);
            }
        }
        Ok(())
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let record = shown.record;
        let timeout = self.timeout_ms.map(Duration::from_millis);
        let piece = || Piece { attempt: record.failures + 1, timeout, ..Piece::new("alarm", record.ended + 1) };
        shown.alarm.filter(|alarm| *alarm <= shown.now).map(|_| piece()).into_iter().collect()
    }

    /// A new alarm has not failed yet.
    fn alarm_set(&self, turn: &mut Turn<'_, Record>) {
        let Record { rung, ended, failures, has_failed, .. } = turn.record;
        let is_replaced = failures > 0 && !has_failed;
        turn.record = Record { rung, ended: ended + u64::from(is_replaced), ..Record::default() };
        turn.set_status(Standing::resting("idle"));
    }

    fn run_count(&self, record: &Record) -> u64 {
        record.rung
    }

    fn status(&self, shown: &Shown<'_, Record>) -> Status {
        let Record { failures, has_failed, error, .. } = shown.record.clone();
        Status { alarm: shown.alarm, failures, has_failed, error }
    }
}

/// Tried often enough: the state is kept, and somebody should look at it (A3).
fn give_up(turn: &mut Turn<'_, Record>) {
    turn.record.has_failed = true;
    turn.record.ended += 1;
    turn.set_alarm(None);
    turn.set_status(Standing::failing("error"));
    let error = turn.record.error.clone();
    turn.emit("object.failed", &serde_json::json!({ "error": error }));
}

/// The verbs of an object: those of every entity.
pub struct Verbs<T, I = ()>(Handle<T>, PhantomData<fn() -> I>);

impl<T: Primitive, I> From<Handle<T>> for Verbs<T, I> {
    fn from(handle: Handle<T>) -> Self {
        Self(handle, PhantomData)
    }
}

impl<T, I> Deref for Verbs<T, I> {
    type Target = Handle<T>;

    fn deref(&self) -> &Handle<T> {
        &self.0
    }
}

impl<T, I> fmt::Debug for Verbs<T, I> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
