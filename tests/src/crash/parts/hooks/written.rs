//! The rows that transactions write, each with a letter that the same transaction sends.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;
use drystone::{Client, Failure, Runtime, SqlError, Transaction};
use serde::{Deserialize, Serialize};

use crate::crash::{
    op::Op,
    parts::{
        outbox::{Letter, Post, post},
        part::Part,
    },
    processes::app::App,
};

/// The tables of the rows, and of the letters that were delivered.
pub(in crate::crash) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS written (writer TEXT NOT NULL, keeper TEXT NOT NULL, op INTEGER NOT NULL, nth INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS delivered (writer TEXT NOT NULL, keeper TEXT NOT NULL, op INTEGER NOT NULL);";

/// The transaction that writes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::crash) enum Writer {
    Tick,
    Flush,
    Process,
    Alarm,
    Destroy,
    /// The transaction of an order, which belongs to no entity.
    Order,
}

/// The sorts of hooks that ran in this process, and the sorts of letters that were delivered.
static RAN: AtomicU32 = AtomicU32::new(0);
static CAME: AtomicU32 = AtomicU32::new(0);

impl Writer {
    pub(in crate::crash) const ALL: [Self; 6] =
        [Self::Tick, Self::Flush, Self::Process, Self::Alarm, Self::Destroy, Self::Order];

    const HOOKS: u32 = Self::Order.bit() - 1;

    const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Records that a hook of this sort runs. The part is active in a life once every sort has run.
    pub(super) fn ran(self) {
        let ran = RAN.fetch_or(self.bit(), Ordering::Relaxed) | self.bit();
        if ran == Self::HOOKS {
            Part::Hooks.moved();
        }
    }

    /// Records that a letter of this sort was delivered. The part is active in a life once a letter of an
    /// order and a letter of a hook have been delivered.
    pub(in crate::crash) fn came(self) {
        let came = CAME.fetch_or(self.bit(), Ordering::Relaxed) | self.bit();
        if came & Self::Order.bit() != 0 && came & Self::HOOKS != 0 {
            Part::Outbox.moved();
        }
    }

    pub(in crate::crash) fn word(self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Flush => "flush",
            Self::Process => "process",
            Self::Alarm => "alarm",
            Self::Destroy => "destroy",
            Self::Order => "order",
        }
    }

    pub(in crate::crash) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|writer| writer.word() == word)
    }
}

/// A row that a hook writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::crash) struct Written {
    pub(in crate::crash) writer: Writer,
    /// The key of the entity.
    pub(in crate::crash) keeper: String,
    /// The operation or, for a tick, its number in the round.
    pub(in crate::crash) op: u64,
    /// The count of the entity.
    pub(in crate::crash) nth: u64,
}

impl Written {
    /// Sends the letter and writes the row.
    pub(super) fn write(&self, post_office: &Client<Post>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        let Self { writer, keeper, op, nth } = self;
        sql.send(post_office.get(post(Op(*op))).enqueue(Letter { writer: *writer, op: *op }))?;
        sql.execute("INSERT INTO written VALUES (?1, ?2, ?3, ?4)", (writer.word(), keeper, op, nth)).map(drop)
    }
}

/// Removes the rows of operations before this one.
pub(in crate::crash) async fn forget(app: &Runtime<App>, before: Op) -> Result<()> {
    let gone = app.transaction(move |sql| {
        sql.execute("DELETE FROM written WHERE op < ?1", (before.0,))?;
        sql.execute("DELETE FROM delivered WHERE op < ?1", (before.0,)).map_err(Failure::from)
    });
    gone.await.map(drop).map_err(|error| anyhow::anyhow!("the rows cannot be cut: {error}"))
}
