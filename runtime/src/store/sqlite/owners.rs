//! The batch numbers and times of partitions, kept in memory rather than in the file.
//!
//! A row written with every batch would be a second page to sync for a lone call. It is not necessary: this
//! is the only engine of the file, and `COMMIT` blocks. So the rows change only through this module, and no
//! batch from before the file was opened can arrive late.
//!
//! The highest time is written to the rows whenever it has advanced by [`TOLD_EVERY`], with every message
//! (whose time tells whether the message may have been in progress at a crash, W2), and with every claim.
//! After a power cut the row may be older than an entity by that much; our time is then advanced by that of
//! the entity (A5).

use std::{collections::HashMap, time::Duration};

use rusqlite::{Connection, Error, params};

use super::value::millis;
use crate::{Epoch, Millis, Partition, store::Batch};

/// How far the highest time in the file may lag behind.
const TOLD_EVERY: Duration = Duration::from_millis(100);

/// The owners of all partitions.
#[derive(Debug, Default)]
pub(super) struct Owners {
    owners: HashMap<Partition, Owner>,
    /// Whether the rows may have changed since they were read.
    is_stale: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Owner {
    epoch: Epoch,
    /// The number of the last batch of this epoch.
    batch: u64,
    highest: Millis,
    /// The highest time in the row of the partition.
    written: Millis,
}

impl Owners {
    /// Makes owners whose rows have not been read yet.
    pub(super) fn unread() -> Self {
        Self { owners: HashMap::new(), is_stale: true }
    }

    /// Writes the reported times to the rows before a claim, and has the rows read again after it, because
    /// the claim changes them.
    pub(super) fn flush(&mut self, connection: &Connection) -> Result<(), Error> {
        self.is_stale = true;
        for (partition, owner) in self.owners.iter().filter(|(_, owner)| owner.highest > owner.written) {
            write(connection, *partition, owner.highest)?;
        }
        Ok(())
    }

    /// Returns the partitions of `batch` that have another owner or have seen a later batch. Writes the
    /// batch's time to the rows of the other partitions, if that is due.
    pub(super) fn fence(&mut self, connection: &Connection, batch: &Batch) -> Result<Vec<(Partition, Epoch)>, Error> {
        if self.is_stale {
            self.read(connection)?;
        }
        let mut fenced = Vec::new();
        for &(partition, epoch) in &batch.epochs {
            match self.owners.get(&partition) {
                Some(owner) if owner.epoch == epoch && owner.batch < batch.number => {
                    if owner.is_written_with(batch) {
                        write(connection, partition, batch.now)?;
                    }
                }
                other => fenced.push((partition, other.map(|owner| owner.epoch).unwrap_or_default())),
            }
        }
        Ok(fenced)
    }

    /// Returns the epoch of a partition, or `None` if the partition does not exist.
    pub(super) fn epoch_of(&mut self, connection: &Connection, partition: Partition) -> Result<Option<Epoch>, Error> {
        if self.is_stale {
            self.read(connection)?;
        }
        Ok(self.owners.get(&partition).map(|owner| owner.epoch))
    }

    /// Records the number and time of a batch that has been committed.
    pub(super) fn told(&mut self, batch: &Batch) {
        for (partition, epoch) in &batch.epochs {
            let Some(owner) = self.owners.get_mut(partition).filter(|owner| owner.epoch == *epoch) else { continue };
            if owner.batch >= batch.number {
                continue;
            }
            if owner.is_written_with(batch) {
                owner.written = owner.written.max(batch.now);
            }
            owner.batch = batch.number;
            owner.highest = owner.highest.max(batch.now);
        }
    }

    fn read(&mut self, connection: &Connection) -> Result<(), Error> {
        let mut statement = connection.prepare_cached("SELECT id, epoch, highest FROM drystone_partition")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (epoch, written) = (Epoch(row.get(1)?), millis(row, 2)?);
            let owner = self.owners.entry(Partition(row.get(0)?)).or_default();
            let batch = if owner.epoch == epoch { owner.batch } else { 0 };
            *owner = Owner { epoch, batch, highest: owner.highest.max(written), written };
        }
        self.is_stale = false;
        Ok(())
    }
}

impl Owner {
    fn is_written_with(&self, batch: &Batch) -> bool {
        batch.now >= self.written.after(TOLD_EVERY) || batch.writes.iter().any(|write| !write.sent.is_empty())
    }
}

fn write(connection: &Connection, partition: Partition, highest: Millis) -> Result<(), Error> {
    let sql = "UPDATE drystone_partition SET highest = max(highest, ?1) WHERE id = ?2";
    connection.prepare_cached(sql)?.execute(params![highest.0, partition.0]).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::{
        Epoch, Millis, Partition,
        driver::block_on,
        store::{Batch, Sqlite, SqliteOptions, Store, Want, Worker},
    };

    fn tell(store: &Sqlite, epoch: Epoch, number: u64, now: i64) {
        let epochs = vec![(Partition(0), epoch)];
        block_on(store.commit(&Batch { now: Millis(now), number, epochs, ..Batch::default() })).unwrap();
    }

    fn claim(store: &Sqlite, want: Want) -> crate::store::Claimed {
        let worker = Worker { id: "one".into(), address: String::new() };
        block_on(store.claim(&worker, want)).unwrap()
    }

    /// A5
    #[test]
    fn the_time_in_the_file_lies_behind_by_less_than_a_tenth_of_a_second_and_not_at_all_after_a_claim() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("told.db");
        let options = SqliteOptions { clock: std::sync::Arc::new(|| Millis(1_000)), ..SqliteOptions::default() };
        let store = Sqlite::open(&path, options).unwrap();
        let lease = std::time::Duration::from_secs(60);
        let epoch = claim(&store, Want::Take { at_most: 1, lease }).leases[0].epoch;
        let reader = rusqlite::Connection::open(&path).unwrap();
        let in_file = || -> i64 {
            reader.query_row("SELECT highest FROM drystone_partition WHERE id = 0", [], |row| row.get(0)).unwrap()
        };
        let mut seen = Vec::new();
        for (number, now) in [(1, 1_050), (2, 1_099), (3, 1_100), (4, 1_150)] {
            tell(&store, epoch, number, now);
            seen.push(in_file());
        }
        assert_eq!(seen, [1_000, 1_000, 1_100, 1_100]);
        claim(&store, Want::Renew { held: Vec::new(), lease, now: Millis(0) });
        assert_eq!(in_file(), 1_150);
    }
}
