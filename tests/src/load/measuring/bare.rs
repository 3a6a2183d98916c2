//! The limit that the kernel is measured against: one thread, one prepared statement, group commit.
//!
//! It executes only `UPDATE drystone_entity SET version=?, state=? WHERE id=? AND version=?`. The file was
//! made by the real store, and has the same options and checkpoints. The bare writer checks no epoch, has no
//! other table, merges nothing and runs no author code. No program that stores a row durably can do less.

use std::{
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::{
    callers::{Callers, Writer},
    measured::Measured,
    wal::Wal,
};

/// A writer thread, which ends when this value is dropped.
pub(in crate::load) struct Bare {
    requests: Sender<Request>,
    state: Bytes,
}

struct Request {
    row: usize,
    state: Bytes,
    /// Answers with the new version, in eight bytes, like the kernel.
    reply: oneshot::Sender<u64>,
}

impl Bare {
    /// Starts the thread over the entities of a file.
    pub(in crate::load) fn start(path: &Path, state: Bytes) -> Result<Self> {
        let table = Table::open(path)?;
        let (requests, waiting) = channel();
        thread::Builder::new().name("bare-writer".into()).spawn(move || table.serve(&waiting))?;
        Ok(Self { requests, state })
    }
}

impl Writer for Bare {
    async fn write(&self, row: usize) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request { row, state: self.state.clone(), reply })?;
        answer.await.context("the bare writer gave up")?;
        Ok(())
    }
}

/// Commits of one row each, made in sequence by a single thread, as for a single caller.
pub(in crate::load) struct Direct {
    table: Table,
    state: Bytes,
}

impl Direct {
    pub(in crate::load) fn open(path: &Path, state: Bytes) -> Result<Self> {
        Ok(Self { table: Table::open(path)?, state })
    }

    pub(in crate::load) fn drive(&mut self, callers: Callers) -> Result<Measured> {
        let mut latencies = Vec::new();
        let start = Instant::now();
        let mut before = start;
        while before - start < callers.span {
            self.table.commit([(callers.row(0, latencies.len() as u64), &self.state)])?;
            let after = Instant::now();
            latencies.push(after - before);
            before = after;
        }
        Ok(Measured::new(latencies, start.elapsed()))
    }
}

/// The entities of a file, with the version that the next write of each expects.
struct Table {
    connection: Connection,
    rows: Vec<(i64, i64)>,
    wal: Wal,
}

impl Table {
    fn open(path: &Path) -> Result<Self> {
        let connection = super::wal::connect(path)?;
        let rows = connection
            .prepare("SELECT id, version FROM drystone_entity ORDER BY id")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        ensure!(!rows.is_empty(), "the file has no entities");
        Ok(Self { connection, rows, wal: Wal::start(path)? })
    }

    /// Serves requests. All requests that wait when a commit becomes durable share the next commit.
    fn serve(mut self, waiting: &Receiver<Request>) {
        while let Ok(first) = waiting.recv() {
            let batch: Vec<Request> = std::iter::once(first).chain(waiting.try_iter()).collect();
            if let Err(error) = self.commit(batch.iter().map(|request| (request.row, &request.state))) {
                eprintln!("the bare writer failed: {error:#}");
                return;
            }
            for request in batch {
                // If the caller has left, its row is still written.
                let _ = request.reply.send(self.rows[request.row].1 as u64);
            }
        }
    }

    fn commit<'a>(&mut self, writes: impl IntoIterator<Item = (usize, &'a Bytes)>) -> Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let rows = self.update(writes)?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.wal.written(&self.connection, rows)
    }

    /// Returns the number of rows written.
    fn update<'a>(&mut self, writes: impl IntoIterator<Item = (usize, &'a Bytes)>) -> Result<usize> {
        let sql = "UPDATE drystone_entity SET version=?, state=? WHERE id=? AND version=?";
        let (mut update, mut rows) = (self.connection.prepare_cached(sql)?, 0);
        for (row, state) in writes {
            let (id, version) = &mut self.rows[row];
            let changed = update.execute(params![*version + 1, &state[..], *id, *version])?;
            ensure!(changed == 1, "somebody else writes to the bare file");
            *version += 1;
            rows += 1;
        }
        Ok(rows)
    }
}
