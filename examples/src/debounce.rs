//! A kind that is not ours: the hook runs once nothing has touched the entity for a while.
//!
//! A kind is pure functions over a record: it sees a turn, and changes the record, the alarm and the status in it. Storing,
//! waking, retries after a crash and the author's code are not its affair.

use std::time::Duration;

use drystone::{
    Call, Primitive,
    author::{Args, Given, TakenBy},
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
    literal,
    runtime::Status,
};
use serde::{Deserialize, Serialize};

/// What `#[primitive(debounce, quiet = "2s")]` sets.
#[derive(Serialize)]
pub struct Options {
    quiet: Duration,
}

impl Options {
    /// Settles after a second.
    pub const NEW: Self = Self { quiet: Duration::from_secs(1) };

    /// How long nothing must touch it.
    pub const fn quiet(mut self, text: &str) -> Self {
        self.quiet = literal::some_duration(text);
        self
    }

    /// Any combination will do.
    pub const fn checked(self) -> Self {
        self
    }
}

/// The hook: `#[hook(settled)] async fn index(&mut self) -> Result<(), E>`.
#[allow(non_camel_case_types)]
pub enum settled {}

impl TakenBy<settled> for () {
    fn take(_: Given) -> Result<(), String> {
        Ok(())
    }
}

/// How often it has settled; how often the hook has failed since.
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
    /// What callers hold: `touch`, beside the verbs of every entity and the author's actions.
    pub struct Verbs;
}

impl<T: Primitive, I> Verbs<T, I> {
    /// Puts off the hook by the quiet time.
    pub fn touch(&self) -> Call<()> {
        self.address().call("touch", Args::new())
    }
}
