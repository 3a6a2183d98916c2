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
    /// The defaults: an alarm that fails is tried 3 times, a minute apart.
    pub const NEW: Self = Self { attempts: Attempts::new(3, Retry::parse("1m")) };

    attempts::options!(retry, retry_with);

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
    /// The mark of the alarm that is set.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::stored::mark")]
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

    /// A new alarm has not failed yet.
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

/// Tried often enough: the state is kept, and somebody should look at it (A3).
fn give_up(turn: &mut Turn<'_, Record>) {
    turn.record.has_failed = true;
    turn.record.ended += 1;
    turn.set_alarm(None);
    turn.set_status(Standing::failing("error"));
    let error = turn.record.error.clone();
    turn.emit("object.failed", &serde_json::json!({ "error": error }));
}

crate::verbs! {
    /// The verbs of an object: those of every entity.
    pub struct Verbs;
}
