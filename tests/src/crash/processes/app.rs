//! The app of typed primitives, and how the files of kernel and app are opened.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use drystone::{Primitives, Runtime};
use drystone_runtime::{
    Options,
    store::{Sqlite, SqliteOptions},
};

use crate::crash::{
    judging::{
        doubt,
        fate::{Deps, Fate},
        guilt,
        said::Said,
    },
    parts::{
        hooks,
        hooks::{Candle, Chronicle, Press, Tally},
        outbox::{Parcel, Post},
        runs::{Boat, Convoy, Diver, Dock, Ferry, Harbour, LOGBOOK, Voyage, Wreck},
        topics::Listener,
        typed::{Berth, Clock, Jobs, Note, Pile},
    },
    plan::Errand,
};

#[derive(Primitives)]
pub(in crate::crash) struct App {
    pile: Pile,
    note: Note,
    clock: Clock,
    jobs: Jobs,
    berth: Berth,
    voyage: Voyage,
    convoy: Convoy,
    boat: Boat,
    harbour: Harbour,
    ferry: Ferry,
    wreck: Wreck,
    diver: Diver,
    dock: Dock,
    listener: Listener,
    candle: Candle,
    chronicle: Chronicle,
    press: Press,
    tally: Tally,
    post: Post,
    parcel: Parcel,
}

/// The clock of both files moves ahead by this much between two rounds. Everything that is kept for a
/// limited time has expired by then: ended runs (7 days), events of topics (7 days), dead letters (30 days),
/// replies to idempotency keys (24 hours, or 90 days for those of runs).
const BETWEEN_ROUNDS: Duration = Duration::from_secs(100 * 24 * 60 * 60);

/// Small, so that the log is emptied while children are killed, and a child that opens a file has little to
/// read.
const WAL_BYTES_MAX: u64 = 4 << 20;

/// Often, because a life is short.
const SWEEP_EVERY: Duration = Duration::from_millis(25);

/// Opens a file with the clock of a round.
pub(in crate::crash) fn store(file: &Path, round: u64) -> Result<Arc<Sqlite>> {
    let options = SqliteOptions::default();
    let wall = options.clock.clone();
    let ahead = BETWEEN_ROUNDS * u32::try_from(round)?;
    let clock = Arc::new(move || wall().after(ahead));
    Ok(Arc::new(Sqlite::open(file, SqliteOptions { clock, wal_bytes_max: WAL_BYTES_MAX, ..options })?))
}

/// Sets the options of both kernels.
pub(in crate::crash) fn options(options: &mut Options) {
    guilt::options(options);
    options.sweep_every = SWEEP_EVERY;
}

/// The path of the typed app's file, next to the kernel's file.
pub(in crate::crash) fn beside(file: &Path) -> PathBuf {
    file.with_extension("app.db")
}

/// Opens the app over its file. `fate` decides what guilty code does.
pub(in crate::crash) async fn start(store: Arc<Sqlite>, fate: Fate) -> Result<Runtime<App>> {
    let schema = format!("{LOGBOOK}; {}", hooks::TABLES);
    let builder = Runtime::store(store).services(Deps { fate }).options(options).schema(schema);
    Ok(builder.start::<App>().await?)
}

/// Opens the app in a child.
pub(in crate::crash) async fn open(errand: &Errand) -> Result<Runtime<App>> {
    let file = beside(&errand.file);
    let app = start(store(&file, errand.round)?, Fate::Dies).await?;
    Said::Opened.aloud();
    doubt::over(&file).await?;
    Ok(app)
}
