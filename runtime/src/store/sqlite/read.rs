//! Reads by key.

use std::sync::LazyLock;

use bytes::Bytes;
use rusqlite::{Connection, Error, OptionalExtension, Row as SqlRow, params};

use super::{
    entity::{COLUMNS, entity},
    value::{at_most, bits, bytes, millis, name, number, version},
};
use crate::{
    Entity, Fingerprint, Key, Lane, Mark, MessageId, Name, Range, Row, Version,
    store::{Found, Letter, Read, Remembered},
};

/// Reads of at most this many rows are short: a record, with a page of its inbox.
const SHORT_ROWS: u32 = 128;

pub(super) fn read(connection: &Connection, partitions: u32, reads: &[Read]) -> Result<Vec<Found>, Error> {
    reads.iter().map(|read| one(connection, partitions, read)).collect()
}

/// Whether the reads take no longer than a write. Then they may use the writer's connection, although a write
/// has to wait for them.
pub(super) fn is_short(reads: &[Read]) -> bool {
    let rows = |read: &Read| match read {
        Read::Entity(_) | Read::Remembered { .. } | Read::Config { .. } => 1,
        Read::Rows { range, .. } => range.limit,
        Read::Inbox { limit, .. } => *limit,
    };
    reads.iter().map(rows).fold(0, u32::saturating_add) <= SHORT_ROWS
}

fn one(connection: &Connection, partitions: u32, read: &Read) -> Result<Found, Error> {
    Ok(match read {
        Read::Entity(key) => Found::Entity(by_key(connection, key)?.map(Box::new)),
        Read::Rows { entity, range } => Found::Rows(rows(connection, *entity, range)?),
        Read::Inbox { key, after, limit } => Found::Inbox(letters(connection, partitions, key, *after, *limit)?),
        Read::Remembered { key, once } => Found::Remembered(remembered(connection, key, once)?),
        Read::Config { definition, fingerprint } => Found::Config(config(connection, definition, *fingerprint)?),
    })
}

/// Formatted once, because it reads every key that is brought into memory.
static BY_KEY: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {COLUMNS} FROM drystone_entity WHERE space = ?1 AND key = ?2"));

/// Returns the entity bound to a key.
pub(super) fn by_key(connection: &Connection, key: &Key) -> Result<Option<Entity>, Error> {
    connection.prepare_cached(&BY_KEY)?.query_row(params![key.space.as_str(), &key.key[..]], entity).optional()
}

fn rows(connection: &Connection, entity: Version, range: &Range) -> Result<Vec<Row>, Error> {
    if !is_seen(connection, entity, &range.lane)? {
        return Ok(Vec::new());
    }
    let sql = match (range.backwards, &range.from) {
        (false, _) => {
            "SELECT key, body FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key >= ?3 ORDER BY key LIMIT ?4"
        }
        (true, Some(_)) => {
            "SELECT key, body FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key <= ?3 ORDER BY key DESC LIMIT ?4"
        }
        // The empty key is the smallest, so the condition holds for all keys.
        (true, None) => {
            "SELECT key, body FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key >= ?3 ORDER BY key DESC LIMIT ?4"
        }
    };
    let from: &[u8] = range.from.as_deref().unwrap_or_default();
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_map(params![at_most(entity), range.lane.as_str(), from, range.limit], |row| {
        Ok(Row { lane: range.lane.clone(), key: bytes(row, 0)?, body: bytes(row, 1)? })
    })?;
    found.collect()
}

/// Whether the rows of a lane are visible. A dropped lane is visible while it is held, even if its entity is
/// gone.
fn is_seen(connection: &Connection, entity: Version, lane: &Lane) -> Result<bool, Error> {
    let sql = "SELECT held FROM drystone_gone WHERE entity = ?1 AND (whole = 1 OR lane = ?2) ORDER BY whole LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let held = statement.query_row(params![at_most(entity), lane.as_str()], |row| row.get(0)).optional()?;
    Ok(held.unwrap_or(true))
}

fn letters(
    connection: &Connection,
    partitions: u32,
    key: &Key,
    after: Option<MessageId>,
    limit: u32,
) -> Result<Vec<Letter>, Error> {
    let sql = "SELECT version, idx, sender_space, sender_key, definition, verb, body, attempts, at, mark FROM drystone_inbox \
         WHERE partition = ?1 AND space = ?2 AND key = ?3 AND (version, idx) > (?4, ?5) \
         ORDER BY version, idx LIMIT ?6";
    let (version, index) = after.map_or((-1, 0), |after| (at_most(after.version), after.index));
    let (partition, space) = (key.partition(partitions).0, key.space.as_str());
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params![partition, space, &key.key[..], version, index, limit], letter)?.collect()
}

fn letter(row: &SqlRow<'_>) -> Result<Letter, Error> {
    Ok(Letter {
        id: MessageId { version: version(row, 0)?, index: row.get(1)? },
        from: Key { space: name(row, 2)?, key: bytes(row, 3)? },
        definition: name(row, 4)?,
        verb: name(row, 5)?,
        body: bytes(row, 6)?,
        attempts: row.get(7)?,
        at: millis(row, 8)?,
        mark: row.get::<_, Option<i64>>(9)?.map(|mark| Mark::new(number(mark))),
    })
}

fn remembered(connection: &Connection, key: &Key, once: &Bytes) -> Result<Option<Remembered>, Error> {
    let sql = "SELECT hash, reply, expires_at FROM drystone_remembered WHERE space = ?1 AND key = ?2 AND once = ?3";
    let reply = |row: &SqlRow<'_>| {
        Ok(Remembered {
            once: once.clone(),
            hash: number(row.get(0)?),
            reply: bytes(row, 1)?,
            expires_at: millis(row, 2)?,
        })
    };
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![key.space.as_str(), &key.key[..], &once[..]], reply).optional()
}

fn config(connection: &Connection, definition: &Name, fingerprint: Fingerprint) -> Result<Option<Bytes>, Error> {
    let sql = "SELECT body FROM drystone_config WHERE definition = ?1 AND fingerprint = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![definition.as_str(), bits(fingerprint.0)], |row| bytes(row, 0)).optional()
}
