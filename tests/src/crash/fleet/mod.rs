//! A thousand workflows in flight, in a file of their own: whatever is killed, each comes to its end with every leg recorded once,
//! and booked once, in a table of the app's own.
//!
//! A voyage is started by the first child that gets to it and goes on through all kills. It sleeps, races and waits for signals,
//! which operations send while children live, and the last child sends again. One is steered by a step that kills its process. With the
//! signals set out, so that some are at sea in every life: convoys, parents with children of their own, each of which is entered once in
//! the book of a harbour; wrecks, whose steps are all undone; and ferries, which go on as one generation after another, one for each fare,
//! and take all of them in order.

mod convoy;
mod evidence;
mod ferry;
mod voyage;
mod wreck;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drystone::{CallError, Failure, Primitives, Runtime, workflow::SendError};
use tokio::task::JoinSet;

pub(super) use self::evidence::Evidence;
use self::{
    convoy::{Boat, Convoy, Harbour},
    ferry::{FARES, FERRIES, Ferry, ferry},
    voyage::{Signal, Voyage},
    wreck::{Wreck, wreck},
};
use super::{
    doubt,
    fate::{Deps, Fate},
    op::Op,
    said::Said,
};

/// How many are in flight. A build for tests is many times slower, and has fewer.
pub(super) const SHIPS: u64 = if cfg!(debug_assertions) { 200 } else { 1_000 };
/// The signals that each waits for.
const SIGNALS: [u32; 2] = [1, 4];
/// The one that is given up.
const GUILTY: &str = "guilty";
/// To one ship in so many there is a convoy, and a wreck.
const LED: u64 = 10;
/// Where each leg of each ship is booked. Nothing but the promise keeps a leg from being there twice.
const LOGBOOK: &str = "CREATE TABLE IF NOT EXISTS logbook (ship INTEGER NOT NULL, leg INTEGER NOT NULL)";
/// Callers at once: each waits for the pauses of its ship in the end.
const LANES: u64 = 64;

#[derive(Primitives)]
pub(super) struct App {
    voyage: Voyage,
    convoy: Convoy,
    boat: Boat,
    harbour: Harbour,
    ferry: Ferry,
    wreck: Wreck,
}

fn beside(file: &Path) -> PathBuf {
    file.with_extension("fleet.db")
}

fn convoy(number: u64) -> String {
    format!("convoy-{number}")
}

fn ship(number: u64) -> String {
    format!("ship-{number}")
}

/// Opens the fleet in a child; those that no child has started yet set out.
pub(super) async fn open(file: &Path) -> Result<Runtime<App>> {
    let builder = Runtime::sqlite(beside(file)).services(Deps { fate: Fate::Dies });
    let app = builder.schema(LOGBOOK).start::<App>().await?;
    Said::Opened.aloud();
    Said::Booked(booked(&app).await?).aloud();
    app.client().voyage(GUILTY).start_or_get(u64::MAX).await?;
    each(&app, |app, number| async move { Ok(app.voyage(ship(number)).start_or_get(number).await.map(drop)?) }).await?;
    doubt::over(&beside(file)).await?;
    Ok(app)
}

/// How many legs are in the logbook.
async fn booked(app: &Runtime<App>) -> Result<u64> {
    let legs = app.transaction(|sql| {
        let legs = sql.query("SELECT count(*) AS legs FROM logbook", (), |row| row.get::<u64>("legs"));
        legs.map_err(Failure::from)
    });
    let legs = legs.await.map_err(|error| anyhow::anyhow!("the logbook cannot be read: {error}"))?;
    Ok(legs.into_iter().sum())
}

/// Sends the signal of an operation: which one it is, its number says. The next convoy sets out with it, and somebody crosses.
pub(super) async fn signal(app: &Runtime<App>, op: Op) -> Result<()> {
    let (nth, client) = (op.ship(), app.client());
    if nth < SHIPS / LED {
        set_out(&client, nth * LED).await?;
    }
    if nth < FERRIES * u64::from(FARES) {
        ferry::pay(client.clone(), ferry(nth % FERRIES), (nth / FERRIES) as u32 + 1).await?;
    }
    send(&client, nth % SHIPS, SIGNALS[(nth / SHIPS % 2) as usize]).await
}

/// Starts the convoy of a ship, and the wreck.
async fn set_out(client: &AppClient, number: u64) -> Result<()> {
    client.convoy(convoy(number)).start_or_get(number).await?;
    client.wreck(wreck(number)).start_or_get(number).await?;
    Ok(())
}

async fn send(client: &AppClient, number: u64, leg: u32) -> Result<()> {
    loop {
        let sent = client.voyage(ship(number)).send(Signal(leg)).idempotency_key(format!("signal-{leg}")).await;
        match sent {
            Ok(_) => return Ok(()),
            // It had all its signals: this is one of them again, asked for by an operation that was not acknowledged.
            Err(CallError::Failed(SendError::Terminated { .. })) => return Ok(()),
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Brings every voyage to its end, and closes the app.
pub(super) async fn reach(app: Runtime<App>) -> Result<()> {
    each(&app, |app, number| async move {
        for leg in SIGNALS {
            send(&app, number, leg).await?;
        }
        app.voyage(ship(number)).result().await.with_context(|| format!("{} came to grief", ship(number)))?;
        if number.is_multiple_of(LED) {
            set_out(&app, number).await?;
            let convoy = convoy(number);
            app.convoy(&convoy).result().await.with_context(|| format!("{convoy} came to grief"))?;
            // It fails, and how is looked at later.
            let _ = app.wreck(wreck(number)).result().await;
        }
        Ok(())
    })
    .await?;
    ferry::pay_all(app.client()).await?;
    for number in 0..FERRIES {
        let ferry = ferry(number);
        app.client().ferry(&ferry).result().await.with_context(|| format!("{ferry} came to grief"))?;
    }
    // The last of all: it kills this process until it is given up.
    app.client().voyage(GUILTY).send(Signal(0)).idempotency_key("signal-0").await.ok();
    let _ = app.client().voyage(GUILTY).result().await;
    Ok(app.shutdown(std::time::Duration::from_secs(30)).await?)
}

/// Does something for each ship, several at once.
async fn each<F>(app: &Runtime<App>, act: impl Fn(AppClient, u64) -> F + Send + Copy + 'static) -> Result<()>
where
    F: Future<Output = Result<()>> + Send,
{
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let client = app.client();
        lanes.spawn(async move {
            for number in (lane..SHIPS).step_by(LANES as usize) {
                act(client.clone(), number).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(lane) = lanes.join_next().await {
        lane??;
    }
    Ok(())
}
