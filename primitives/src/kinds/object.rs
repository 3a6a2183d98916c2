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
//!     /// Returns the user who is signed in.
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
//! - The alarm is part of the action's commit; setting it replaces the alarm before (A1). The alarm never
//!   rings early (A2).
//! - The alarm stays set until its hook has ended, so it rings again after a crash. The hook may set the
//!   next alarm.
//! - A failing hook is executed up to `max_attempts` times (3), with `retry` between (1 minute). Then the
//!   object is in status `error` with its state kept, until an action sets the alarm again (A3).

#[cfg(test)]
mod model;

use drystone_runtime::{Mark, Status as Standing};
use serde::{Deserialize, Serialize};

use crate::{
    Failure, Retry, Timestamp,
    author::{Given, TakenBy},
    kind::{Answer, Attempts, Done, Ended, Kind, Piece, Shown, Stop, Turn, attempts},
};

/// The options of `#[primitive(object, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    attempts: Attempts,
}

impl Options {
    /// The defaults: a failing alarm is executed 3 times in all, a minute apart.
    pub const NEW: Self = Self { attempts: Attempts::new(3, Retry::parse("1m")) };

    attempts::options!(retry, retry_with);

    /// Finishes the options: every combination is valid.
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

/// The status of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// When the alarm is due.
    pub alarm: Option<Timestamp>,
    /// How often the alarm has failed since it last succeeded.
    pub failures: u32,
    /// Whether the alarm was given up after its last attempt.
    pub has_failed: bool,
    /// The last error of the alarm.
    pub error: Option<Failure>,
}

/// The stored record of an object, beside its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// How many alarms were handled.
    rung: u64,
    /// How many alarms have ended: handled, given up, or replaced after a failure. The next alarm gets the
    /// number after this, so that no two alarms have the same name.
    #[serde(default)]
    ended: u64,
    #[serde(default)]
    failures: u32,
    #[serde(default)]
    has_failed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    /// The mark of the turn that set the alarm.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::values::stored::mark")]
    mark: Option<Mark>,
}

impl Kind for Options {
    const NAME: &'static str = "object";
    const VERBS: &'static [&'static str] = &[];
    const AUTHOR_SETS_ALARM: bool = true;
    const MARKS_WORK: bool = true;

    type Record = Record;
    type Status = Status;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.set_status(Standing::resting("idle"));
    }

    fn verb(&self, _: &mut Turn<'_, Record>, verb: &str, _: &[u8]) -> Result<Answer, Stop> {
        Err(Stop::Malformed(format!("an object has no verb `{verb}`")))
    }

    /// Keeps the alarm set until its hook has ended, so that it rings again after a crash.
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
                let pause = self.attempts.pause_after(piece.attempt, seed);
                match pause {
                    Some(pause) => {
                        let at = turn.now.after(pause);
                        turn.set_alarm(Some(at));
                    }
                    None => give_up(turn),
                }
            }
        }
        Ok(())
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let record = shown.record;
        let (timeout, mark) = (self.attempts.time_limit(), record.mark);
        let piece = || Piece { attempt: record.failures + 1, timeout, mark, ..Piece::new("alarm", record.ended + 1) };
        shown.alarm.filter(|alarm| *alarm <= shown.now).map(|_| piece()).into_iter().collect()
    }

    /// Clears the failures, because a new alarm has not failed yet.
    fn alarm_set(&self, turn: &mut Turn<'_, Record>) {
        let Record { rung, ended, failures, has_failed, .. } = turn.record;
        let is_replaced = failures > 0 && !has_failed;
        let (ended, mark) = (ended + u64::from(is_replaced), Some(turn.mark()));
        turn.record = Record { rung, ended, mark, ..Record::default() };
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

/// Gives the alarm up after its last attempt: the state is kept, and the object needs attention (A3).
fn give_up(turn: &mut Turn<'_, Record>) {
    turn.record.has_failed = true;
    turn.record.ended += 1;
    turn.set_alarm(None);
    turn.set_status(Standing::failing("error"));
    let error = turn.record.error.clone();
    turn.emit("object.failed", &serde_json::json!({ "error": error }));
}

crate::verbs! {
    /// The verbs of an object: only those of every entity.
    pub struct Verbs;
}
