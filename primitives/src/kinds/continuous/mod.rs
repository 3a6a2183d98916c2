//! Work that repeats: a tick at a fixed rate, with a fixed delay, or by the wall clock.
//!
//! ```
//! use drystone::{Never, Primitives, d, primitive, testing::World};
//!
//! /// Counts the nights.
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Nights(u32);
//!
//! #[primitive(continuous, every = "24h", max_attempts = 5, retry = "1s..5m")]
//! impl Nights {
//!     #[tick]
//!     async fn count(&mut self) -> Result<(), Never> {
//!         self.0 += 1;
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     nights: Nights,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let nights = world.client().nights("here");
//! nights.start().await.unwrap();
//! world.advance(d!("7d")).await;
//! assert_eq!(nights.state().await.unwrap().unwrap().0, 7);
//! nights.stop().await.unwrap();
//! # });
//! ```
//!
//! Promises, beyond those of every entity:
//!
//! - The first tick comes one interval after `start`, or at once with `first = "now"` (C2). A tick never
//!   comes early. After a time in which nothing ran, one tick stands for all that were missed (A4).
//! - Two ticks of one entity never run at once (C6). A tick succeeds in one commit with its state, the count
//!   and the next alarm.
//! - A tick that a crash cuts short runs again under the same number, so a tick runs at least once.
//! - A failing tick is executed up to `max_attempts` times with `retry` between; then `on_exhausted` decides
//!   what follows (C5).
//! - `stop` and `trigger` never wait for a tick (C3). `start()` and `resume()` resume a stopped or failed
//!   entity with its stored state. `start_with(state)` on such an entity is refused, and `replace(state)`
//!   sets its state (C2).
//! - A changed interval in the code holds from the next start of the program on, counted from the last tick
//!   (E11).
//! - A tick can ask for the time that it stands for, [`scheduled_for`](crate::Context::scheduled_for). This
//!   time is the same over retries and restarts.
//!
//! # By the wall clock
//!
//! With the feature `cron`, `#[primitive(continuous, cron = "0 3 * * *", zone = "Europe/Berlin", missed =
//! "once")]` ticks at three every night in Berlin. The default zone is UTC. Expression and zone are checked
//! at compile time. `Cron` describes the expressions, and the nights when clocks are changed.
//! `cron = NIGHTLY` takes a constant of that type.
//!
//! `missed` decides about times that passed while nothing ran, or while a tick ran (A4):
//!
//! - `missed = "once"` (default): one tick at once for all of them. The tick stands for the last time, and
//!   the others are counted as skipped.
//! - `missed = "skip"`: no tick, and the next tick comes at the next time. A tick that would begin more than
//!   a minute late, or after the next time was due, is skipped, too. A tick that began and was cut short by
//!   a crash runs again.
//! - `missed = "backfill"`: a tick for each time, the oldest first, one after another. Only the last 1,000
//!   times are made up for; older ones are skipped.
//!
//! A retry stands for the time of its tick and moves nothing. Times that passed while the entity was
//! stopped, or before an expression was in the code, were not missed. If a tick is due when the code
//! changes, the new expression decides about it. The time zones come from the tz database in the binary, so
//! a stored schedule follows the binary that runs it. A tick by the wall clock costs one commit more, which
//! records the time that the tick stands for.

#[cfg(test)]
mod model;
mod options;
mod record;
#[cfg(test)]
mod tests;
mod verbs;
#[cfg(feature = "cron")]
mod wall;
#[cfg(all(test, feature = "cron"))]
mod wall_tests;

use bytes::Bytes;
use drystone_runtime::{Millis, Status as Phase};
use serde::Serialize;
use serde_json::value::RawValue;

use self::options::OnExhausted;
pub use self::{
    options::Options,
    record::{Record, Standing, Status},
    verbs::{Triggered, Verbs},
};
use super::dead;
use crate::{
    Failure, Started, Timestamp,
    author::{Given, TakenBy},
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
    planted::Bug,
};

/// The hook: `#[tick] async fn refresh(&mut self, oauth: &OAuth) -> Result<(), E>`.
#[expect(non_camel_case_types, reason = "the compiler's messages show it as the author writes it")]
#[derive(Debug)]
pub enum tick {}

impl TakenBy<tick> for () {
    fn take(_: Given) -> Result<Self, String> {
        Ok(())
    }
}

impl Kind for Options {
    const NAME: &'static str = "continuous";
    const VERBS: &'static [&'static str] = &["stop", "resume", "trigger"];
    const BINDING: &'static [&'static str] = &["trigger"];

    const MARKS_WORK: bool = true;

    type Record = Record;
    type Status = Status;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.record.mark = Some(turn.mark());
        self.begin(turn);
    }

    fn restart(&self, turn: &mut Turn<'_, Record>) -> Started {
        if turn.record.standing == Standing::Running {
            return Started::AlreadyRunning;
        }
        (turn.record.failures, turn.record.errors) = (0, Vec::new());
        self.begin(turn);
        Started::Resumed
    }

    fn verb(&self, turn: &mut Turn<'_, Record>, verb: &str, _: &[u8]) -> Result<Answer, Stop> {
        match verb {
            "stop" => Answer::value(&self.stop(turn)),
            "resume" => Answer::value(&(self.restart(turn) == Started::Resumed)),
            "trigger" => Answer::value(&self.trigger(turn)),
            _ => Err(Stop::Malformed(format!("a continuous entity has no verb `{verb}`"))),
        }
    }

    #[cfg(feature = "cron")]
    fn alarm(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        if let Some(due) = turn.alarm() {
            self.admit(turn, due.into());
        }
        Ok(())
    }

    fn done(&self, turn: &mut Turn<'_, Record>, piece: &Done, ended: Ended) -> Result<(), Stop> {
        let record = &mut turn.record;
        if (piece.number, piece.attempt) != (record.ticks + 1, record.attempts + 1) {
            return Ok(());
        }
        record.last_run_at = Some(turn.now.into());
        match ended {
            Ended::Ok => {
                record.runs += 1;
                if !Bug::FailuresKept.planted() {
                    record.failures = 0;
                }
                self.next_tick(turn);
            }
            Ended::Failed(error) => {
                let error = error.shortened();
                record.failed(&error, turn.now.into());
                self.failed(turn, piece.attempt, &error);
            }
        }
        Ok(())
    }

    /// Counts from the last tick as before. An execution that is due and a retry that waits stay as they
    /// are.
    fn changed(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        #[cfg(feature = "cron")]
        if self.schedule().as_cron().is_some() {
            self.changed_on_the_wall(turn);
            return Ok(());
        }
        let record = &turn.record;
        if record.standing == Standing::Running && record.attempts == 0 && !self.is_in_flight(turn) {
            let next = self.schedule().next(record.base);
            turn.set_alarm(Some(next.into()));
        }
        Ok(())
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let Record { ticks, attempts, mark, .. } = *shown.record;
        let is_due = self.is_listed(shown.record, shown.alarm, shown.now);
        let timeout = self.attempts.time_limit();
        let tick = || Piece { attempt: attempts + 1, timeout, mark, ..Piece::new("tick", ticks + 1) };
        is_due.then(tick).into_iter().collect()
    }

    fn run_count(&self, record: &Record) -> u64 {
        record.runs
    }

    fn scheduled_for(&self, shown: &Shown<'_, Record>) -> Option<Timestamp> {
        shown.record.stands_for.or(shown.alarm)
    }

    fn status(&self, shown: &Shown<'_, Record>) -> Status {
        let record = shown.record.clone();
        Status {
            status: record.standing,
            last_run_at: record.last_run_at,
            next_run_at: shown.alarm,
            next_runs: self.next_runs(shown),
            run_count: record.runs,
            skipped: record.skipped,
            consecutive_failures: record.failures,
            errors: record.errors,
        }
    }
}

impl Options {
    /// Starts the schedule. If a tick is still in flight, because the entity was stopped a moment ago, that
    /// tick is the first.
    fn begin(&self, turn: &mut Turn<'_, Record>) {
        turn.record.standing = Standing::Running;
        turn.record.base = turn.now.into();
        turn.set_status(Phase::live("running"));
        if self.is_in_flight(turn) {
            return;
        }
        if self.first_now {
            return ask(turn);
        }
        let first = self.schedule().next(turn.record.base);
        turn.set_alarm(Some(first.into()));
    }

    /// Handles a failed execution. It is retried, unless it was the last attempt or a single run of a
    /// stopped entity.
    fn failed(&self, turn: &mut Turn<'_, Record>, attempt: u32, error: &Failure) {
        let pause = self.attempts.pause_after(attempt, turn.record.ticks);
        match pause {
            Some(pause) if turn.record.standing == Standing::Running => {
                turn.record.attempts = attempt;
                turn.record.stands_for = turn.record.stands_for.or(turn.alarm().map(Into::into));
                if Bug::RetryShifts.planted() {
                    turn.record.base = turn.now.into();
                }
                // A caller has triggered one more tick, so the retry need not wait.
                let at = if turn.record.again { turn.now } else { turn.now.after(pause) };
                turn.record.again = false;
                turn.set_alarm(Some(at));
            }
            _ => self.give_up(turn, attempt, error),
        }
    }

    /// Ends a tick without success.
    fn give_up(&self, turn: &mut Turn<'_, Record>, attempts: u32, error: &Failure) {
        turn.emit("continuous.failed", &serde_json::json!({ "error": error, "attempts": attempts }));
        match self.on_exhausted {
            _ if turn.record.standing != Standing::Running => {}
            OnExhausted::Continue => {}
            OnExhausted::Destroy => match last_state(turn, attempts, error) {
                Some(letter) => {
                    turn.send(letter);
                    turn.emit("continuous.dead", &serde_json::json!({ "error": error, "attempts": attempts }));
                    return turn.destroy();
                }
                None => stopped_by_error(turn),
            },
            OnExhausted::Stop => stopped_by_error(turn),
        }
        self.next_tick(turn);
    }

    /// Ends the tick, and sets the alarm of the next, if there is one.
    fn next_tick(&self, turn: &mut Turn<'_, Record>) {
        let due = turn.record.stands_for.or(turn.alarm().map(Into::into));
        turn.record.end_tick(turn.mark());
        if std::mem::take(&mut turn.record.again) {
            self.moved(turn, due);
            return ask(turn);
        }
        let next = self.moved(turn, due);
        turn.set_alarm(next.map(Into::into));
        // The next tick may be due already, and an alarm that has rung does not ring again.
        #[cfg(feature = "cron")]
        if let Some(next) = next {
            self.admit(turn, next);
        }
    }

    /// Moves the base of the schedule after a tick that was due at `due`. Returns when the next tick is due;
    /// `None` if the entity does not run.
    fn moved(&self, turn: &mut Turn<'_, Record>, due: Option<Timestamp>) -> Option<Timestamp> {
        let (now, schedule, record) = (turn.now.into(), self.schedule(), &mut turn.record);
        if record.standing != Standing::Running {
            return None;
        }
        #[cfg(feature = "cron")]
        if let Some(cron) = schedule.as_cron() {
            self.moved_on(cron, record, now);
            return Some(schedule.next(record.base));
        }
        // A tick that was due at a grid point uses up that point; a tick that was triggered earlier does
        // not.
        let own = u64::from(due.is_some_and(|due| due >= schedule.next(record.base)));
        let (base, points) = schedule.ended(record.base, now);
        record.skipped += points.saturating_sub(own);
        record.base = if Bug::GridMoved.planted() { now } else { base };
        Some(schedule.next(record.base))
    }

    fn stop(&self, turn: &mut Turn<'_, Record>) -> bool {
        if turn.record.standing != Standing::Running {
            return false;
        }
        turn.record.standing = Standing::Stopped;
        turn.record.again = false;
        turn.set_status(Phase::resting("stopped"));
        // The alarm of a tick in flight stays set until the tick ends: without the alarm the tick would be
        // dropped.
        if !self.is_in_flight(turn) || Bug::TickForgotten.planted() {
            turn.set_alarm(None);
            if turn.record.attempts > 0 {
                turn.record.end_tick(turn.mark());
            }
        }
        true
    }

    fn trigger(&self, turn: &mut Turn<'_, Record>) -> Triggered {
        if self.is_in_flight(turn) {
            turn.record.again = !Bug::TriggerLost.planted();
            return Triggered::Next;
        }
        ask(turn);
        Triggered::Now
    }

    /// Whether an execution is in flight or about to start.
    fn is_in_flight(&self, turn: &Turn<'_, Record>) -> bool {
        self.is_listed(&turn.record, turn.alarm().map(Into::into), turn.now.into())
    }

    fn is_listed(&self, record: &Record, alarm: Option<Timestamp>, now: Timestamp) -> bool {
        let is_admitted = record.stands_for.is_some() || !self.is_admitted_first();
        is_admitted && alarm.is_some_and(|alarm| alarm <= now)
    }

    /// Returns the time of the next execution, and the times on the schedule that follow it.
    fn next_runs(&self, shown: &Shown<'_, Record>) -> Vec<Timestamp> {
        let mut runs: Vec<Timestamp> = shown.alarm.into_iter().collect();
        if let (Standing::Running, Some(alarm)) = (shown.record.standing, shown.alarm) {
            #[cfg(feature = "cron")]
            let from = self.shows_from(shown.record, shown.now);
            #[cfg(not(feature = "cron"))]
            let from = shown.now;
            runs.extend(self.schedule().upcoming(shown.record.base, alarm.max(from), RUNS_SHOWN - 1));
        }
        runs
    }
}

/// How many of the next executions the status shows.
const RUNS_SHOWN: usize = 5;

/// Makes a tick due at once, whatever the schedule says.
fn ask(turn: &mut Turn<'_, Record>) {
    let now: Millis = turn.now;
    if turn.record.attempts == 0 {
        turn.record.mark = Some(turn.mark());
    }
    // A retry that waits comes earlier, but stands for the same time as before.
    turn.record.stands_for.get_or_insert(now.into());
    turn.set_alarm(Some(now));
}

fn stopped_by_error(turn: &mut Turn<'_, Record>) {
    turn.record.standing = Standing::Error;
    turn.set_status(Phase::failing("error"));
}

/// The largest state that goes into a dead letter: with everything else the letter stays within the limit of
/// a message (K3).
const STATE_BYTES_MAX: usize = 960 * 1024;

/// Returns the dead letter of an entity that is destroyed because it failed. Returns `None` if its state is
/// too large for a letter; the entity is then kept.
fn last_state(turn: &Turn<'_, Record>, attempts: u32, error: &Failure) -> Option<drystone_runtime::Message> {
    #[derive(Serialize)]
    struct Last<'a> {
        reason: &'static str,
        state: &'a RawValue,
    }
    let state: &Bytes = turn.state().filter(|state| state.len() <= STATE_BYTES_MAX)?;
    let state: &RawValue = serde_json::from_slice(state).ok()?;
    dead::message(turn, ("continuous", "entity"), (attempts, error), Last { reason: "exhausted", state })
}
