//! A kind that is defined outside Drystone. Its hook runs once the entity has not been touched for a while.
//!
//! A kind is a set of pure functions over a record. Each function sees a turn, and changes the record, the
//! alarm and the status in it. Drystone stores the record, wakes the entity, retries after a crash and runs
//! the author's code.

use std::time::Duration;

use drystone::{
    Call, Primitive,
    author::{Args, Given, TakenBy},
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
    literal,
    runtime::Status,
};
use serde::{Deserialize, Serialize};

/// The options, as set by `#[primitive(debounce, quiet = "2s")]`.
#[derive(Serialize)]
pub struct Options {
    quiet: Duration,
}

impl Options {
    /// The defaults: the hook runs after one quiet second.
    pub const NEW: Self = Self { quiet: Duration::from_secs(1) };

    /// How long the entity must be untouched before the hook runs.
    pub const fn quiet(mut self, text: &str) -> Self {
        self.quiet = literal::some_duration(text);
        self
    }

    /// Checks all options together. Any combination is valid.
    pub const fn checked(self) -> Self {
        self
    }
}

/// Names the hook: `#[hook(settled)] async fn index(&mut self) -> Result<(), E>`.
#[allow(non_camel_case_types)]
pub enum settled {}

impl TakenBy<settled> for () {
    fn take(_: Given) -> Result<(), String> {
        Ok(())
    }
}

/// The record of the kind: how often the hook has succeeded, and how often it has failed since the last
/// success.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Record {
    settled: u64,
    failures: u32,
}

impl Kind for Options {
    const NAME: &'static str = "debounce";
    const VERBS: &'static [&'static str] = &["touch"];
    const BINDING: &'static [&'static str] = &["touch"];
    type Record = Record;
    type Status = u64;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.set_status(Status::resting("quiet"));
    }

    fn verb(&self, turn: &mut Turn<'_, Record>, _: &str, _: &[u8]) -> Result<Answer, Stop> {
        turn.set_alarm(Some(turn.now.after(self.quiet)));
        Ok(Answer::done())
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let is_due = shown.alarm.is_some_and(|alarm| alarm <= shown.now);
        let piece = Piece { attempt: shown.record.failures + 1, ..Piece::new("settled", shown.record.settled + 1) };
        is_due.then_some(piece).into_iter().collect()
    }

    fn done(&self, turn: &mut Turn<'_, Record>, _: &Done, ended: Ended) -> Result<(), Stop> {
        turn.record.failures = if ended == Ended::Ok { 0 } else { turn.record.failures + 1 };
        turn.record.settled += u64::from(ended == Ended::Ok);
        turn.set_alarm((ended != Ended::Ok).then_some(turn.now.after(self.quiet)));
        Ok(())
    }

    fn status(&self, shown: &Shown<'_, Record>) -> u64 {
        shown.record.settled
    }
}

drystone::verbs! {
    /// The verbs of the handle: `touch`, besides the verbs of every entity and the author's actions.
    pub struct Verbs;
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Touches the entity: the hook runs after the quiet time, counted from now.
    pub fn touch(&self) -> Call<()> {
        self.address().call("touch", Args::new())
    }
}
