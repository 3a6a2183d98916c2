//! Transactional hooks: a tick, a flush, an item, an alarm and the end of an entity. Each hook writes a row
//! of the app's own and sends a letter in the same transaction (W6, M6).
//!
//! The tables have no unique keys, so nothing but the promise prevents duplicates. Each entity counts in its
//! state what its hooks have done, and each row holds the count. So a row that the entity has not recorded
//! has the number of another row, and a record without its row leaves a gap.

mod candle;
mod chronicle;
mod evidence;
mod judged;
mod press;
mod rest;
mod tally;
mod written;

use anyhow::{Result, ensure};
use drystone::{Call, CallError, Error, Never, Runtime};
use tokio::try_join;

pub(in crate::crash) use self::{
    candle::Candle,
    chronicle::Chronicle,
    evidence::Evidence,
    press::Press,
    rest::reach,
    tally::Tally,
    written::{TABLES, Writer, Written, forget},
};
use crate::crash::{
    judging::answered::answered,
    op::{Op, in_round},
    processes::app::{App, AppClient},
};

/// The message with which a hook panics or fails as planned.
const PLANNED: &str = super::typed::PLANNED;

/// The number of buffers in a round, and of queues.
const KEYS: u64 = 2;

/// The number of turns after which a candle is put out. Some candles ring before.
const BURNS: u64 = 2;

/// The stamping operation of a turn.
fn stamping(round: u64, turn: u64) -> Op {
    Op(Op::of_round(round).start + turn * crate::crash::op::DEEDS + crate::crash::op::STAMP)
}

/// The operations of a round that stamp, before `next`.
fn stamped(next: Op) -> impl Iterator<Item = Op> {
    (0..).map(move |turn| stamping(next.round(), turn)).take_while(move |op| *op < next)
}

/// Starts the clock of a round, whose ticks write.
pub(in crate::crash) async fn begin(app: &Runtime<App>, round: u64) -> Result<()> {
    app.client().chronicle(chronicle(round)).start_with(Chronicle::of(round)).await?;
    Ok(())
}

/// Gives each hook something to write.
pub(in crate::crash) async fn stamp(app: &Runtime<App>, op: Op) -> Result<()> {
    let client = app.client();
    let flushed = async {
        answered(|| client.tally(tally(op)).add(op.0).idempotency_key(op.once())).await?;
        anyhow::Ok(())
    };
    let processed = async {
        answered(|| client.press(press(op)).enqueue(op.0).idempotency_key(op.once())).await?;
        anyhow::Ok(())
    };
    try_join!(light(&client, op), flushed, processed, put_out_earlier(&client, op)).map(drop)
}

/// Lights the candle of an operation. A later operation may put it out before this operation is
/// acknowledged.
async fn light(client: &AppClient, op: Op) -> Result<()> {
    match answered(|| client.candle(candle(op)).light(op.0, op.alarm_ms()).idempotency_key(op.once())).await {
        Ok(()) | Err(CallError::Fault(Error::Destroyed { .. })) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn put_out_earlier(client: &AppClient, op: Op) -> Result<()> {
    let Some(turn) = op.turn().checked_sub(BURNS) else { return Ok(()) };
    gone(|| client.candle(candle(stamping(op.round(), turn))).destroy()).await
}

/// Destroys an entity, if it is bound.
pub(in crate::crash) async fn gone(destroy: impl Fn() -> Call<bool, Never>) -> Result<()> {
    match answered(destroy).await {
        Ok(_) | Err(CallError::Fault(Error::NotBound { .. } | Error::Destroyed { .. })) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Lets some hooks fail or panic in their first attempt, after they have written and sent.
fn stumble(attempt: u32, nth: u64) -> Result<()> {
    assert!(attempt > 1 || nth % 11 != 5, "{PLANNED}");
    ensure!(attempt > 1 || nth % 7 != 3, PLANNED);
    Ok(())
}

pub(in crate::crash) fn chronicle(round: u64) -> String {
    in_round("chronicle", round)
}

fn candle(op: Op) -> String {
    in_round(&format!("candle-{}", op.turn()), op.round())
}

fn tally(op: Op) -> String {
    in_round(&format!("tally-{}", op.turn() % KEYS), op.round())
}

fn press(op: Op) -> String {
    in_round(&format!("press-{}", op.turn() % KEYS), op.round())
}

/// The buffers of a round.
pub(in crate::crash) fn tallies(round: u64) -> impl Iterator<Item = String> {
    (0..KEYS).map(move |turn| tally(stamping(round, turn)))
}

/// The queues of a round.
pub(in crate::crash) fn presses(round: u64) -> impl Iterator<Item = String> {
    (0..KEYS).map(move |turn| press(stamping(round, turn)))
}
