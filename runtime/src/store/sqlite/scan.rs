//! Scans for keys that must be woken: range scans of partial indexes, one per partition, merged.

use rusqlite::{Connection, Error, Params, params};

use super::{
    entity::{COLUMNS, entity},
    read::by_key,
    value::{at_most, bytes, name},
};
use crate::{
    Entity, Key, Millis, Partition, Version,
    store::{Cursor, Ready, Woken},
};

pub(super) fn ready(
    connection: &Connection,
    which: &Ready,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Woken>, Error> {
    match which {
        Ready::Due { partitions, until } => due(connection, partitions, *until, after, limit),
        Ready::Active { partitions } => by_id(connection, "active = 1 AND parked IS NULL", partitions, after, limit),
        Ready::Inbox { partitions } => receivers(connection, partitions, after, limit),
        Ready::Parked { partitions } => by_id(connection, "parked IS NOT NULL", partitions, after, limit),
    }
}

fn due(
    connection: &Connection,
    partitions: &[Partition],
    until: Millis,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Woken>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM drystone_entity WHERE partition = ?1 AND alarm_at IS NOT NULL AND parked IS NULL \
         AND (alarm_at, id) > (?2, ?3) AND alarm_at <= ?4 ORDER BY alarm_at, id LIMIT ?5"
    );
    let (at, id) = match after {
        Some(Cursor::Alarm(at, id)) => (at.0, at_most(*id)),
        _ => (i64::MIN, -1),
    };
    let mut found = Vec::new();
    for partition in distinct(partitions) {
        found.extend(entities(connection, &sql, params![partition.0, at, id, until.0, signed(limit)])?);
    }
    found.sort_by_key(|entity| (entity.alarm, entity.id));
    let cursor = |entity: &Entity| Cursor::Alarm(entity.alarm.unwrap_or_default(), entity.id);
    Ok(found.into_iter().take(limit).map(|entity| woken(cursor(&entity), entity)).collect())
}

fn by_id(
    connection: &Connection,
    wanted: &str,
    partitions: &[Partition],
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Woken>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM drystone_entity WHERE partition = ?1 AND {wanted} AND id > ?2 ORDER BY id LIMIT ?3"
    );
    let id = match after {
        Some(Cursor::Id(id)) => at_most(*id),
        _ => -1,
    };
    let mut found = Vec::new();
    for partition in distinct(partitions) {
        found.extend(entities(connection, &sql, params![partition.0, id, signed(limit)])?);
    }
    found.sort_by_key(|entity| entity.id);
    Ok(found.into_iter().take(limit).map(|entity| woken(Cursor::Id(entity.id), entity)).collect())
}

fn entities(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<Entity>, Error> {
    connection.prepare_cached(sql)?.query_map(parameters, entity)?.collect()
}

fn receivers(
    connection: &Connection,
    partitions: &[Partition],
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Woken>, Error> {
    let mut found = Vec::new();
    for partition in distinct(partitions) {
        let mut key = match after {
            Some(Cursor::Key(past, _)) if *past > partition => continue,
            Some(Cursor::Key(past, key)) if *past == partition => Some(key.clone()),
            _ => None,
        };
        while found.len() < limit {
            let Some(next) = next_receiver(connection, partition, key.as_ref())? else { break };
            let (entity, cursor) = (by_key(connection, &next)?.map(Box::new), Cursor::Key(partition, next.clone()));
            found.push(Woken { key: next.clone(), entity, cursor });
            key = Some(next);
        }
    }
    Ok(found)
}

/// Returns the next key with messages. One lookup skips all messages of the key before.
fn next_receiver(connection: &Connection, partition: Partition, after: Option<&Key>) -> Result<Option<Key>, Error> {
    let sql = "SELECT space, key FROM drystone_inbox WHERE partition = ?1 AND (space, key) > (?2, ?3) \
         ORDER BY space, key LIMIT 1";
    // The smallest text and the smallest blob: every key is above them.
    let (space, key) = after.map_or(("", &[][..]), |key| (key.space.as_str(), &key.key[..]));
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![partition.0, space, key])?;
    match rows.next()? {
        Some(row) => Ok(Some(Key { space: name(row, 0)?, key: bytes(row, 1)? })),
        None => Ok(None),
    }
}

/// Returns the partitions without duplicates, in the order in which messages are scanned.
fn distinct(partitions: &[Partition]) -> std::collections::BTreeSet<Partition> {
    partitions.iter().copied().collect()
}

fn woken(cursor: Cursor, entity: Entity) -> Woken {
    Woken { key: entity.key.clone(), entity: Some(Box::new(entity)), cursor }
}

fn signed(limit: usize) -> i64 {
    at_most(Version(limit as u64))
}
