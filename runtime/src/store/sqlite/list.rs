//! Lists entities by id, with the filters of a query.

use rusqlite::{Connection, Error, params_from_iter, types::Value};

use super::{
    entity::{COLUMNS, entity, phase_number},
    value::{at_most, bits},
};
use crate::{
    Entity, Version,
    store::{Page, Query},
};

/// A filter for entities without a wake source. The inbox is searched last, only for entities that pass the
/// other filters.
const STUCK: &str = "phase = 0 AND alarm_at IS NULL AND active = 0 AND parked IS NULL AND NOT EXISTS \
     (SELECT 1 FROM drystone_inbox inbox WHERE inbox.partition = drystone_entity.partition \
     AND inbox.space = drystone_entity.space AND inbox.key = drystone_entity.key)";

pub(super) fn list(connection: &Connection, query: &Query) -> Result<Page, Error> {
    let (wanted, values) = filters(query);
    let sql = format!("SELECT {COLUMNS} FROM drystone_entity WHERE {} ORDER BY id LIMIT ?", wanted.join(" AND "));
    // Reads one entity more than asked for, to know whether there is a next page.
    let limit = Value::Integer(at_most(Version(query.limit as u64)).saturating_add(1));
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values.into_iter().chain([limit])), entity)?;
    let mut entities: Vec<Entity> = found.collect::<Result<_, _>>()?;
    let is_more = entities.len() > query.limit;
    entities.truncate(query.limit);
    let next = entities.last().filter(|_| is_more).map(|last| last.id);
    Ok(Page { entities, next })
}

fn filters(query: &Query) -> (Vec<&'static str>, Vec<Value>) {
    let mut wanted = vec!["id > ?"];
    let mut values = vec![Value::Integer(query.after.map_or(-1, at_most))];
    let mut with = |sql, value: Option<Value>| {
        if let Some(value) = value {
            wanted.push(sql);
            values.push(value);
        }
    };
    with("space = ?", query.space.as_ref().map(|name| Value::Text(name.to_string())));
    with("definition = ?", query.definition.as_ref().map(|name| Value::Text(name.to_string())));
    with("status = ?", query.status.as_ref().map(|name| Value::Text(name.to_string())));
    with("phase = ?", query.phase.map(|phase| Value::Integer(phase_number(phase))));
    with("alarm_at <= ?", query.due_until.map(|until| Value::Integer(until.0)));
    with("config <> ?", query.config_other_than.map(|config| Value::Integer(bits(config.0))));
    match query.parked {
        Some(true) => wanted.push("parked IS NOT NULL"),
        Some(false) => wanted.push("parked IS NULL"),
        None => {}
    }
    if query.stuck {
        wanted.push(STUCK);
    }
    (wanted, values)
}
