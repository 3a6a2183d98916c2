//! Workflows under kills: each run ends, each step is recorded once, and each booking is once in a table of
//! the app's own.
//!
//! Each operation starts a voyage, which takes steps, books them in a transaction, sleeps, races, and waits
//! for two signals. The next operation sends the second signal. Each operation also starts a wreck, whose
//! steps are all undone. Every second operation starts a convoy, a parent whose children are each entered
//! once in the book of a harbour; the others start a diver, which holds the only permit of a dock. A ferry
//! continues as a new generation after each fare. One voyage of the first round kills its process.

mod convoy;
mod diver;
mod evidence;
mod ferry;
mod judged;
mod rest;
mod voyage;
mod wreck;

use anyhow::Result;
use drystone::{CallError, Failure, Runtime, workflow::SendError};

use self::{
    convoy::convoy,
    diver::diver,
    ferry::{FARES, ferry},
    voyage::Signal,
    wreck::wreck,
};
pub(in crate::crash) use self::{
    convoy::{Boat, Convoy, Harbour, harbours},
    diver::{Diver, Dock, dock},
    evidence::Evidence,
    ferry::Ferry,
    rest::reach,
    voyage::Voyage,
    wreck::Wreck,
};
use crate::crash::{
    judging::fate::Fate,
    op::{Op, in_round},
    processes::app::{App, AppClient},
};

/// The signals that each voyage waits for.
const SIGNALS: [u32; 2] = [1, 4];
/// The guilty voyage, which kills the process.
const GUILTY: &str = "guilty-ship@0";
/// The table in which each leg of each ship is booked. It has no unique key, so nothing but the promise
/// prevents duplicates.
pub(in crate::crash) const LOGBOOK: &str =
    "CREATE TABLE IF NOT EXISTS logbook (ship INTEGER NOT NULL, leg INTEGER NOT NULL)";

/// The sailing operation of a turn.
fn sailing(round: u64, turn: u64) -> Op {
    Op(Op::of_round(round).start + turn * crate::crash::op::DEEDS + crate::crash::op::SAIL)
}

/// The operations of a round that sail, before `next`.
fn sailed(next: Op) -> impl Iterator<Item = Op> {
    (0..).map(move |turn| sailing(next.round(), turn)).take_while(move |op| *op < next)
}

/// Starts the runs of an operation, and sends its signals and its fare.
pub(in crate::crash) async fn sail(app: &Runtime<App>, op: Op) -> Result<()> {
    let (turn, client) = (op.turn(), app.client());
    client.voyage(op.key()).start_or_get(op.0).await?;
    send(&client, op, SIGNALS[0]).await?;
    if turn > 0 {
        send(&client, sailing(op.round(), turn - 1), SIGNALS[1]).await?;
    }
    client.wreck(wreck(op)).start_or_get(op.0).await?;
    if turn.is_multiple_of(2) {
        client.convoy(convoy(op)).start_or_get(op.0).await?;
    } else {
        client.diver(diver(op)).start_or_get(op.0).await?;
    }
    ferry::pay(&client, &ferry(op), (turn % u64::from(FARES)) as u32 + 1).await
}

async fn send(client: &AppClient, op: Op, leg: u32) -> Result<()> {
    // The operation of this ship may not have started the ship yet.
    client.voyage(op.key()).start_or_get(op.0).await?;
    loop {
        let sent = client.voyage(op.key()).send(Signal(leg)).idempotency_key(format!("signal-{leg}")).await;
        match sent {
            // A ship that has ended has had all its signals. This signal is a repeat for an unacknowledged
            // operation.
            Ok(_) | Err(CallError::Failed(SendError::Terminated { .. })) => return Ok(()),
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes the bookings of operations before this one.
pub(in crate::crash) async fn forget_logbook(app: &Runtime<App>, before: Op) -> Result<()> {
    let before = i64::try_from(before.0)?;
    let gone = app.transaction(move |sql| {
        sql.execute("DELETE FROM logbook WHERE ship >= 0 AND ship < ?1", (before,)).map_err(Failure::from)
    });
    gone.await.map(drop).map_err(|error| anyhow::anyhow!("the logbook cannot be cut: {error}"))
}
