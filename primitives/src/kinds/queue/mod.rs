//! A queue handles items one by one, each until it succeeds: jobs, mails, webhooks.
//!
//! ```
//! use drystone::{Item, Primitives, d, primitive, testing::World};
//!
//! /// Mails that go out.
//! #[derive(Default, serde::Serialize, serde::Deserialize)]
//! struct Emails {
//!     sent: Vec<String>,
//! }
//!
//! #[primitive(queue, max_attempts = 5, backoff = "1s..5m")]
//! impl Emails {
//!     #[process]
//!     async fn send(&mut self, item: Item<String>) -> Result<(), String> {
//!         if item.attempt == 1 && item.value == "bob" {
//!             return Err("the mailbox is full".into());
//!         }
//!         self.sent.push(item.value);
//!         Ok(())
//!     }
//! }
//!
//! #[derive(Primitives)]
//! struct App {
//!     emails: Emails,
//! }
//!
//! # drystone::testing::block_on(async {
//! let world = World::memory().start::<App>().await;
//! let emails = world.client().emails("welcome");
//! for to in ["anna", "bob", "carl"] {
//!     emails.enqueue(to.into()).await.unwrap();
//! }
//! world.advance(d!("1s")).await;
//! assert_eq!(emails.state().await.unwrap().unwrap().sent, ["anna", "carl", "bob"]);
//! assert_eq!(emails.stats().await.unwrap().done, 3);
//! # });
//! ```
//!
//! Promises, beyond those of every entity:
//!
//! - `enqueue` answers with the item's number when the item is durable (Q1). Items of a key start in
//!   order of arrival, at most `concurrency` at once (Q2). A `#[process]` with `&self` runs beside
//!   others of its key; one with `&mut self` has the struct to itself. Each key is a queue with an order of
//!   its own, so *concurrency per key* means a queue per key.
//! - An item stays stored until the commit that records its success. It is processed at least once, under an
//!   id that stays the same over retries, restarts and replays (Q2).
//! - A failing item is executed up to `max_attempts` times with `backoff` between. Later items are processed
//!   meanwhile, unless `strict_order` is set. Items that are due for a retry and items that wait take turns,
//!   so that neither starves. After the last attempt the item becomes a dead letter, and can be replayed
//!   (Q3, D3).
//! - [`Enqueue`] sets a priority, a delay, or a dedup key, under which something is enqueued once within a
//!   window (Q4).
//! - After `pause` no item starts until `resume`. `drain` answers when nothing is left, `stats` counts
//!   items, and `peek` shows the waiting ones (Q4).
//! - At most `max_depth` items are stored; beyond that `enqueue` answers [`Full`] (Q5). An item has 992 KiB
//!   at most. An operation costs the same however many items are stored, and stored items take no memory.
//! - `timeout` limits one execution, and `heartbeat` the time without a [sign of
//!   life](crate::Context::heartbeat).

mod item;
#[cfg(test)]
mod model;
mod moving;
mod once;
mod options;
mod place;
#[cfg(test)]
mod property;
mod record;
#[cfg(test)]
mod tests;
mod turns;
mod verbs;
mod written;

use self::record::Running;
pub use self::{
    item::{Item, process},
    options::Options,
    record::{Record, Stats},
    verbs::{Enqueue, Enqueued, EnqueuedMany, Full, Peeked, Verbs},
};
use crate::kind::{Answer, Done, Ended, Kind, Piece, Shown, Stop, Turn};

impl Kind for Options {
    const NAME: &'static str = "queue";
    const VERBS: &'static [&'static str] = &["enqueue", "pause", "resume", "drain", "peek", "replay_item"];
    const BINDING: &'static [&'static str] = &["enqueue", "pause", "replay_item"];

    const MARKS_WORK: bool = true;

    type Record = Record;
    type Status = Stats;

    fn born(&self, turn: &mut Turn<'_, Record>) {
        turn.set_status(drystone_runtime::Status::resting("empty"));
    }

    fn verb(&self, turn: &mut Turn<'_, Record>, verb: &str, body: &[u8]) -> Result<Answer, Stop> {
        match verb {
            "enqueue" => self.enqueue(turn, body),
            "pause" => self.pause(turn, true),
            "resume" => self.pause(turn, false),
            "drain" => Ok(Self::drain(turn)),
            "peek" => Self::peek(turn, body),
            "replay_item" => self.replay(turn, body),
            _ => Err(Stop::Malformed(format!("a queue has no verb `{verb}`"))),
        }
    }

    fn alarm(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        self.settle(turn)
    }

    fn done(&self, turn: &mut Turn<'_, Record>, piece: &Done, ended: Ended) -> Result<(), Stop> {
        let is_it = |running: &Running| (running.number(), running.attempt()) == (piece.number, piece.attempt);
        let Some(index) = turn.record.running.iter().position(is_it) else { return Ok(()) };
        match ended {
            Ended::Ok => moving::succeeded(turn, index),
            Ended::Failed(error) => self.failed(turn, index, &error.shortened())?,
        }
        self.settle(turn)
    }

    fn changed(&self, turn: &mut Turn<'_, Record>) -> Result<(), Stop> {
        self.settle(turn)
    }

    fn mark_in(row: &[u8]) -> Option<drystone_runtime::Mark> {
        item::mark_in(row)
    }

    fn work(&self, shown: &Shown<'_, Record>) -> Vec<Piece> {
        let running = shown.record.running_now(self.places());
        running.map(|running| self.piece(running)).collect()
    }

    fn prepared(&self, shown: &Shown<'_, Record>, piece: Piece) -> Piece {
        let running = shown.record.running.iter().find(|running| running.number() == piece.number);
        Piece { items: running.map(|running| running.spot().items()), ..piece }
    }

    fn run_count(&self, record: &Record) -> u64 {
        record.done
    }

    fn status(&self, shown: &Shown<'_, Record>) -> Stats {
        let record = shown.record;
        Stats {
            waiting: record.waiting(),
            delayed: record.delayed.count,
            retrying: record.retrying.count,
            running: record.running.len() as u64,
            done: record.done,
            dead: record.dead,
            paused: record.paused,
            next_at: record.delayed.at.into_iter().chain(record.retrying.at).min(),
            errors: record.errors.clone(),
        }
    }
}

impl Options {
    fn piece(&self, running: &Running) -> Piece {
        let (number, attempt) = (running.number(), running.attempt());
        let (timeout, silence) = (self.attempts.time_limit(), self.silence());
        Piece { attempt, timeout, silence, ..Piece::new("process", number) }
    }
}
