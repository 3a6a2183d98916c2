//! Sweeps: deletes rows that are not visible any more, a limited number per call (K6).

use rusqlite::{Connection, Error, OptionalExtension, Params, params};

use crate::Millis;

/// A note of what to sweep: a lane, or a whole entity except for its dropped lanes, which have notes of their
/// own.
struct Note {
    entity: i64,
    whole: bool,
    lane: String,
}

pub(super) fn sweep(connection: &Connection, now: Millis, limit: usize) -> Result<usize, Error> {
    let mut swept = past_replies(connection, now, limit)?;
    while swept < limit {
        let Some(note) = first_note(connection)? else { break };
        swept += rows(connection, &note, limit - swept)?;
        // At the limit, rows of the note may be left; then the note stays for the next call.
        if swept < limit {
            let sql = "DELETE FROM drystone_gone WHERE entity = ?1 AND whole = ?2 AND lane = ?3";
            swept += delete(connection, sql, params![note.entity, note.whole, note.lane])?;
        }
    }
    Ok(swept)
}

fn past_replies(connection: &Connection, now: Millis, left: usize) -> Result<usize, Error> {
    let sql = "DELETE FROM drystone_remembered WHERE (space, key, once) IN \
         (SELECT space, key, once FROM drystone_remembered WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    delete(connection, sql, params![now.0, signed(left)])
}

fn first_note(connection: &Connection) -> Result<Option<Note>, Error> {
    let sql = "SELECT entity, whole, lane FROM drystone_gone WHERE held = 0 ORDER BY whole, entity, lane LIMIT 1";
    let note = |row: &rusqlite::Row<'_>| Ok(Note { entity: row.get(0)?, whole: row.get(1)?, lane: row.get(2)? });
    connection.prepare_cached(sql)?.query_row([], note).optional()
}

fn rows(connection: &Connection, note: &Note, left: usize) -> Result<usize, Error> {
    let lane = "DELETE FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key IN \
         (SELECT key FROM drystone_row WHERE entity = ?1 AND lane = ?2 ORDER BY key LIMIT ?3)";
    let whole = "DELETE FROM drystone_row WHERE entity = ?1 AND (lane, key) IN (SELECT lane, key FROM drystone_row WHERE entity = ?1 \
         AND lane NOT IN (SELECT lane FROM drystone_gone WHERE entity = ?1 AND whole = 0) LIMIT ?2)";
    if note.whole {
        return delete(connection, whole, params![note.entity, signed(left)]);
    }
    delete(connection, lane, params![note.entity, note.lane, signed(left)])
}

fn delete(connection: &Connection, sql: &str, parameters: impl Params) -> Result<usize, Error> {
    connection.prepare_cached(sql)?.execute(parameters)
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
