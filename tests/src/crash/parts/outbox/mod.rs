//! The outbox: a message of a transaction is delivered, once, if and only if the rows of the transaction are
//! kept (M6).
//!
//! Each operation is a transaction outside any entity. It writes an order; in the same transaction it
//! enqueues a letter, starts a run and sends an event to it, and publishes an event. Transactional hooks
//! send letters, too. The queue of letters is a transactional hook itself, and writes a row for each letter
//! that it takes. So there is a table of what was written and a table of what was delivered, and the two
//! must agree.

mod evidence;
mod judged;
mod parcel;
mod post;
mod rest;

use anyhow::{Result, anyhow};
use drystone::{Failure, Runtime};

use self::parcel::{Arrived, Sold};
pub(in crate::crash) use self::{
    evidence::Evidence,
    parcel::Parcel,
    post::{Letter, Post},
    rest::reach,
};
use super::hooks::Writer;
use crate::crash::{
    op::{Op, in_round},
    processes::app::App,
};

/// The number of queues of letters in a round.
const POSTS: u64 = 3;

/// The number of orders in a parcel.
const ORDERS: u64 = 4;

/// The ordering operation of a turn.
fn ordering(round: u64, turn: u64) -> Op {
    Op(Op::of_round(round).start + turn * crate::crash::op::DEEDS + crate::crash::op::ORDER)
}

/// The operations of a round that order, before `next`.
fn ordered(next: Op) -> impl Iterator<Item = Op> {
    (0..).map(move |turn| ordering(next.round(), turn)).take_while(move |op| *op < next)
}

/// Writes an order and sends its messages, unless an earlier life has done so.
pub(in crate::crash) async fn order(app: &Runtime<App>, op: Op) -> Result<()> {
    loop {
        match ordered_once(app, op).await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            ordered => return ordered.map_err(|error| anyhow!("{op:?} was not ordered: {error}")),
        }
    }
}

async fn ordered_once(app: &Runtime<App>, op: Op) -> Result<(), drystone::CallError<Failure>> {
    let client = app.client();
    let transaction = app.transaction(move |sql| {
        let word = Writer::Order.word();
        let before = sql.query("SELECT 1 FROM written WHERE writer = ?1 AND op = ?2", (word, op.0), |_| Ok(()))?;
        if !before.is_empty() {
            return Ok(());
        }
        sql.send(client.post(post(op)).enqueue(Letter { writer: Writer::Order, op: op.0 }))?;
        sql.send(client.parcel(parcel(op)).start_or_get(op.round()))?;
        sql.send(client.parcel(parcel(op)).send(Arrived(Some(op.0))))?;
        sql.send(client.publish(Sold { round: op.round(), op: Some(op.0) }))?;
        sql.execute("INSERT INTO written VALUES (?1, '', ?2, 0)", (word, op.0))?;
        Ok(())
    });
    transaction.await
}

/// The queue that the letters of an operation go to.
pub(in crate::crash) fn post(op: Op) -> String {
    in_round(&format!("post-{}", op.turn() % POSTS), op.round())
}

/// The queues of letters of a round.
pub(in crate::crash) fn posts(round: u64) -> impl Iterator<Item = String> {
    (0..POSTS).map(move |turn| post(ordering(round, turn)))
}

/// The run to which an order is sent.
fn parcel(op: Op) -> String {
    in_round(&format!("parcel-{}", op.turn() / ORDERS), op.round())
}
