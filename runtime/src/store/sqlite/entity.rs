//! The record of an entity, as columns of a table.

use std::borrow::Cow;

use rusqlite::{Connection, Error, Row, Statement, named_params, params, types::Type};

use super::value::{Payload, Signed, bits, bytes, damaged, millis, name, number, optional_name, version};
use crate::{Conviction, Crashes, Entity, Fingerprint, Key, Parked, Partition, Phase, Status, Version, WorkId};

/// The columns for [`entity`], in order.
pub(super) const COLUMNS: &str = "id, space, key, kind, definition, config, version, status, phase, alarm_at, active, \
     crashes, suspect, parked, parked_why, created_at, updated_at, head, state";

/// Reads the entity in a row of [`COLUMNS`].
pub(super) fn entity(row: &Row<'_>) -> Result<Entity, Error> {
    Ok(Entity {
        id: version(row, 0)?,
        key: Key { space: name(row, 1)?, key: bytes(row, 2)? },
        kind: name(row, 3)?,
        definition: name(row, 4)?,
        config: Fingerprint(number(row.get(5)?)),
        version: version(row, 6)?,
        status: Status { word: name(row, 7)?, phase: phase(row, 8)? },
        alarm: row.get::<_, Option<i64>>(9)?.map(crate::Millis),
        active: row.get(10)?,
        crashes: Crashes::from_byte(row.get(11)?),
        suspect: optional_name(row, 12)?.map(WorkId::new),
        parked: parked(row, 13)?,
        created_at: millis(row, 15)?,
        updated_at: millis(row, 16)?,
        head: bytes(row, 17)?,
        state: bytes(row, 18)?,
    })
}

fn phase(row: &Row<'_>, column: usize) -> Result<Phase, Error> {
    match row.get(column)? {
        0 => Ok(Phase::Live),
        1 => Ok(Phase::Resting),
        2 => Ok(Phase::Failing),
        _ => Err(damaged(column, Type::Integer)),
    }
}

/// Returns the number for a phase in the table.
pub(super) fn phase_number(phase: Phase) -> i64 {
    match phase {
        Phase::Live => 0,
        Phase::Resting => 1,
        Phase::Failing => 2,
    }
}

fn parked(row: &Row<'_>, column: usize) -> Result<Option<Parked>, Error> {
    let why = || Ok::<_, Error>(row.get::<_, Option<String>>(column + 1)?.unwrap_or_default());
    Ok(match row.get::<_, Option<i64>>(column)? {
        None => None,
        Some(1) => Some(Parked::Unregistered),
        Some(2) => Some(Parked::Undecodable(why()?)),
        Some(3) => Some(Parked::Poisoned(why()?)),
        Some(4) => Some(Parked::Broken(why()?)),
        Some(5) => {
            let conviction = Conviction::decode(&why()?);
            Some(Parked::Held(conviction.ok_or_else(|| damaged(column + 1, Type::Text))?))
        }
        Some(_) => return Err(damaged(column, Type::Integer)),
    })
}

fn parked_columns(parked: Option<&Parked>) -> (Option<i64>, Option<Cow<'_, str>>) {
    match parked {
        None => (None, None),
        Some(Parked::Unregistered) => (Some(1), None),
        Some(Parked::Undecodable(why)) => (Some(2), Some(why.into())),
        Some(Parked::Poisoned(why)) => (Some(3), Some(why.into())),
        Some(Parked::Broken(why)) => (Some(4), Some(why.into())),
        Some(Parked::Held(conviction)) => (Some(5), Some(conviction.encode().into())),
    }
}

/// Inserts a new entity; changes nothing if its key is bound or its id was assigned before. The parameters
/// have numbers, because finding twenty names would take as long as all the rest.
pub(super) const INSERT: &str = "INSERT INTO drystone_entity (id, partition, space, key, kind, definition, config, version, \
     status, phase, alarm_at, active, crashes, suspect, parked, parked_why, created_at, updated_at, head, state) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) \
     ON CONFLICT DO NOTHING";

/// Executes [`INSERT`].
pub(super) fn insert(statement: &mut Statement<'_>, partition: Partition, entity: &Entity) -> Result<usize, Error> {
    let (parked, parked_why) = parked_columns(entity.parked.as_ref());
    statement.execute(params![
        Signed(entity.id),
        partition.0,
        entity.key.space.as_str(),
        &entity.key.key[..],
        entity.kind.as_str(),
        entity.definition.as_str(),
        bits(entity.config.0),
        Signed(entity.version),
        entity.status.word.as_str(),
        phase_number(entity.status.phase),
        entity.alarm.map(|at| at.0),
        entity.active,
        entity.crashes.to_byte(),
        entity.suspect.as_ref().map(WorkId::as_str),
        parked,
        parked_why,
        entity.created_at.0,
        entity.updated_at.0,
        Payload(&entity.head),
        Payload(&entity.state),
    ])
}

/// Updates every column of an entity that can change, guarded by the version before.
pub(super) fn update_all(connection: &Connection, entity: &Entity, before: Version) -> Result<usize, Error> {
    let (parked, parked_why) = parked_columns(entity.parked.as_ref());
    let sql = "UPDATE drystone_entity SET kind = :kind, definition = :definition, config = :config, version = :version, \
         status = :status, phase = :phase, alarm_at = :alarm_at, active = :active, crashes = :crashes, \
         suspect = :suspect, parked = :parked, parked_why = :parked_why, updated_at = :updated_at, head = :head, \
         state = :state WHERE id = :id AND version = :before";
    connection.prepare_cached(sql)?.execute(named_params! {
        ":id": Signed(entity.id),
        ":before": Signed(before),
        ":kind": entity.kind.as_str(),
        ":definition": entity.definition.as_str(),
        ":config": bits(entity.config.0),
        ":version": Signed(entity.version),
        ":status": entity.status.word.as_str(),
        ":phase": phase_number(entity.status.phase),
        ":alarm_at": entity.alarm.map(|at| at.0),
        ":active": entity.active,
        ":crashes": entity.crashes.to_byte(),
        ":suspect": entity.suspect.as_ref().map(WorkId::as_str),
        ":parked": parked,
        ":parked_why": parked_why,
        ":updated_at": entity.updated_at.0,
        ":head": Payload(&entity.head),
        ":state": Payload(&entity.state),
    })
}
