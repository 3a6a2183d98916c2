//! A buffer collects items and handles them together, in batches by number of items or by time.
//!
//! ```
//! use drystone::{Batch, Never, Primitives, d, primitive, testing::World};
//!
//! /// Lines, and the batches they came in.
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Lines(Vec<Vec<String>>);
//!
//! #[primitive(buffer, max_items = 2, max_wait = "5s")]
//! impl Lines {
//!     #[flush]
//!     async fn write(&mut self, batch: Batch<String>) -> Result<(), Never> {
//!         self.0.push(batch.items);
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     lines: Lines,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let lines = world.client().lines("log");
//! for line in ["one", "two", "three"] {
//!     lines.add(line.into()).await.unwrap();
//! }
//! assert_eq!(lines.state().await.unwrap().unwrap().0, [["one", "two"]]); // full
//! world.advance(d!("5s")).await;
//! assert_eq!(lines.state().await.unwrap().unwrap().0.len(), 2); // and waited long enough
//! # });
//! ```
//!
//! With a reducer the buffer keeps one folded value instead of the items:
//!
//! ```
//! use drystone::{Folded, Never, primitive};
//!
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Sales(u64);
//!
//! #[primitive(buffer, max_wait = "1m")]
//! impl Sales {
//!     #[reduce]
//!     fn fold(total: &mut u64, sale: u64) {
//!         *total += sale;
//!     }
//!
//!     #[flush]
//!     async fn book(&mut self, sales: Folded<u64>) -> Result<(), Never> {
//!         self.0 += sales.value;
//!         Ok(())
//!     }
//! }
//! ```
//!
//! Promises, beyond those of every entity:
//!
//! - `add` answers when the item is durable (B2). An item stays stored until its batch was flushed, given up
//!   or cleared. A crash at any point loses nothing (B3).
//! - A batch closes when it has `max_items`, after `max_wait`, or by `flush`. Later adds go into the next
//!   batch.
//! - Batches are flushed one at a time and in order, each at least once, under an id that stays the same
//!   (B4).
//! - A failing flush is executed up to `max_attempts` times with `backoff` between. Later batches are
//!   flushed meanwhile, unless `strict_order` is set. After the last attempt the batch becomes a dead letter
//!   with its items, and can be replayed (B5, D3).
//! - At most `max_stored` items, `max_stored_bytes` bytes and 500 closed batches are stored; beyond that
//!   `add` answers [`Full`] (B8). The items of replayed batches do not count, only the batches.
//! - With a `#[reduce]` the items of a batch are folded as they arrive, and only the folded value is stored;
//!   it must stay below 1 MiB (B7).

mod batch;
#[cfg(test)]
mod model;
mod options;
#[cfg(test)]
mod property;
mod record;
#[cfg(test)]
mod tests;
mod turns;
mod verbs;

use self::{batch::Told, record::lane};
pub use self::{
    batch::{Batch, Folded, Reason, Reduced, flush},
    options::Options,
    record::{Record, Status, Sum},
    verbs::{Added, Capped, FlushResult, Flushed, Full, Verbs},
};
use crate::{
    encode,
    kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn},
};

impl Kind for Options {
    const NAME: &'static str = "buffer";
    const VERBS: &'static [&'static str] = &["add", "flush", "clear", "replay_batch"];
    const BINDING: &'static [&'static str] = &["add", "replay_batch"];

    const MARKS_WORK: bool = true;

    type Record = Record;
    type Status = Status;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        self.settle(turn);
    }

    fn verb(&self, turn: &mut Turn<'_, Record>, verb: &str, body: &[u8]) -> Result<Answer, Stop> {
        match verb {
            "add" => self.add(turn, body),
            "flush" => self.flush(turn),
            "clear" => self.clear(turn),
            "replay_batch" => self.replay(turn, body),
            _ => Err(Stop::Malformed(format!("a buffer has no verb `{verb}`"))),
        }
    }

    fn alarm(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        self.settle(turn);
        Ok(())
    }

    fn done(&self, turn: &mut Turn<'_, Record>, piece: &Done, ended: Ended) -> Result<(), Stop> {
        let is_it = |closed: &record::Closed| (closed.number, closed.attempts + 1) == (piece.number, piece.attempt);
        let Some(index) = turn.record.closed.iter().position(is_it) else { return Ok(()) };
        turn.record.closed[index].attempts = piece.attempt;
        match ended {
            Ended::Ok => turns::flushed(turn, index),
            Ended::Failed(error) => self.failed(turn, index, &error.shortened()),
        }
        self.settle(turn);
        Ok(())
    }

    fn ends(&self, turn: &mut Turn<'_, Record>) {
        turns::release_held(turn);
    }

    fn changed(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        self.settle(turn);
        Ok(())
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let Some(closed) = shown.record.flying(self.strict_order, shown.now) else { return Vec::new() };
        let attempt = closed.attempts + 1;
        let id = closed.id(shown.definition, shown.id);
        let told = Told { id, number: closed.number, reason: closed.reason, attempt, count: closed.count };
        let told = encode(&told).expect("texts and numbers can be written");
        let (items, timeout, mark) = (Some(closed.items()), self.attempts.time_limit(), closed.mark);
        vec![Piece { attempt, told, items, timeout, mark, ..Piece::new("flush", closed.number) }]
    }

    fn run_count(&self, record: &Record) -> u64 {
        record.flushed.batches
    }

    fn status(&self, shown: &Shown<'_, Record>) -> Status {
        let Record { open, closed, flushed, dead, errors, .. } = shown.record.clone();
        let items = closed.iter().map(|closed| closed.count).sum();
        Status {
            flushes_at: (!open.is_empty()).then(|| open.flushes_at(self)),
            open: open.count,
            open_bytes: open.bytes,
            closed: Sum { batches: closed.len() as u64, items },
            in_flight: shown.record.flying(self.strict_order, shown.now).map(|flying| flying.number),
            flushed,
            dead,
            errors,
        }
    }
}
