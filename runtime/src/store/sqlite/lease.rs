//! Leases on partitions.

use rusqlite::{Connection, Error, params};

use super::value::millis;
use crate::{
    Epoch, Millis, Partition,
    store::{Claimed, Lease, Want, Worker},
};

pub(super) fn claim(connection: &Connection, now: Millis, worker: &Worker, want: &Want) -> Result<Claimed, Error> {
    let leases = match want {
        Want::Take { at_most, lease } => take(connection, now, worker, *at_most, now.after(*lease))?,
        Want::Renew { held, lease, now: told } => renew(connection, held, now.after(*lease), *told)?,
        Want::Release { held, clean, now: told } => {
            release(connection, held, *clean, *told)?;
            Vec::new()
        }
    };
    let sql = "SELECT max(highest), count(*) FROM drystone_partition";
    let (highest, partitions) = connection.query_row(sql, [], |row| Ok((millis(row, 0)?, row.get(1)?)))?;
    Ok(Claimed { now, highest, partitions, leases, others: others(connection, now, worker)? })
}

fn take(
    connection: &Connection,
    now: Millis,
    worker: &Worker,
    at_most: u32,
    until: Millis,
) -> Result<Vec<Lease>, Error> {
    let mut leases = open(connection, now, at_most)?;
    for lease in &mut leases {
        (lease.before, lease.epoch) = (lease.epoch, next_epoch(connection)?);
        let sql = "UPDATE drystone_partition SET epoch = ?1, owner = ?2, address = ?3, lease_until = ?4, clean = 0, \
             highest = max(highest, ?5) WHERE id = ?6";
        let values = params![lease.epoch.0, worker.id.as_str(), worker.address, until.0, now.0, lease.partition.0];
        connection.prepare_cached(sql)?.execute(values)?;
    }
    Ok(leases)
}

/// Returns the partitions that can be taken, with their values before.
fn open(connection: &Connection, now: Millis, at_most: u32) -> Result<Vec<Lease>, Error> {
    let sql = "SELECT id, epoch, clean, highest FROM drystone_partition \
         WHERE owner IS NULL OR lease_until <= ?1 ORDER BY id LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params![now.0, at_most], lease)?.collect()
}

/// Ends every lease. The lock beside the file makes this engine the only one, so it need not wait for leases
/// of a dead engine. The record of how that engine ended stays.
pub(super) fn end_all(connection: &Connection) -> Result<(), Error> {
    connection.execute("UPDATE drystone_partition SET owner = NULL, address = NULL, lease_until = 0", []).map(drop)
}

fn renew(
    connection: &Connection,
    held: &[(Partition, Epoch)],
    until: Millis,
    told: Millis,
) -> Result<Vec<Lease>, Error> {
    let sql = "UPDATE drystone_partition SET lease_until = ?1, highest = max(highest, ?2) WHERE id = ?3 AND epoch = ?4 \
         RETURNING id, epoch, clean, highest";
    let mut statement = connection.prepare_cached(sql)?;
    let mut leases = Vec::new();
    for (partition, epoch) in held {
        leases.extend(statement.query_map(params![until.0, told.0, partition.0, epoch.0], lease)?.next().transpose()?);
    }
    Ok(leases)
}

fn release(connection: &Connection, held: &[(Partition, Epoch)], clean: bool, told: Millis) -> Result<(), Error> {
    let sql = "UPDATE drystone_partition SET owner = NULL, address = NULL, lease_until = 0, clean = ?1, epoch = ?2, \
         highest = max(highest, ?3) WHERE id = ?4 AND epoch = ?5";
    for (partition, epoch) in held {
        // After an end that was not clean the epoch stays: the next owner needs to know the epoch of the one
        // that died.
        let next = if clean { next_epoch(connection)? } else { *epoch };
        connection.prepare_cached(sql)?.execute(params![clean, next.0, told.0, partition.0, epoch.0])?;
    }
    Ok(())
}

fn others(connection: &Connection, now: Millis, worker: &Worker) -> Result<Vec<(Partition, String)>, Error> {
    let sql = "SELECT id, address FROM drystone_partition \
         WHERE owner IS NOT NULL AND owner <> ?1 AND lease_until > ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let other = |row: &rusqlite::Row<'_>| Ok((Partition(row.get(0)?), row.get(1)?));
    statement.query_map(params![worker.id.as_str(), now.0], other)?.collect()
}

/// Returns the next epoch. The table itself checks that epochs stay within 31 bits.
fn next_epoch(connection: &Connection) -> Result<Epoch, Error> {
    let sql = "UPDATE drystone_store SET value = value + 1 WHERE name = 'epoch' RETURNING value";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).map(Epoch)
}

fn lease(row: &rusqlite::Row<'_>) -> Result<Lease, Error> {
    Ok(Lease {
        partition: Partition(row.get(0)?),
        epoch: Epoch(row.get(1)?),
        before: Epoch(row.get(1)?),
        clean: row.get(2)?,
        highest: millis(row, 3)?,
    })
}
