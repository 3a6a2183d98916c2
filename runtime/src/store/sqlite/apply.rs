//! Applies a batch: checks the epochs, then applies each write alone, beginning with its guard.

use std::cell::RefCell;

use rusqlite::{CachedStatement, Connection, Error, OptionalExtension, Statement, params};

use super::{
    entity,
    failure::Fault,
    owners::Owners,
    value::{Payload, Signed, bits, number},
};
use crate::{
    Entity, Epoch, Key, Lane, Millis, Partition, Version,
    store::{After, Batch, Guard, Outgoing, Remembered, Touched, Verdict, Write},
};

// An update rewrites the index entries of every indexed column that it names, changed or not, and each column
// takes time. So the most frequent write has a statement without indexed columns, and two more statements
// name only a few columns.
const LIGHT: &str = "UPDATE drystone_entity SET version = ?1, head = ?2, state = ?3, updated_at = ?4 \
     WHERE id = ?5 AND version = ?6";
const WAKE: &str = "UPDATE drystone_entity SET version = ?1, head = ?2, state = ?3, updated_at = ?4, alarm_at = ?7, active = ?8 \
     WHERE id = ?5 AND version = ?6";
const STATUS: &str = "UPDATE drystone_entity SET version = ?1, head = ?2, state = ?3, updated_at = ?4, alarm_at = ?7, \
     active = ?8, status = ?9, phase = ?10 WHERE id = ?5 AND version = ?6";

/// A batch that is being applied in an open transaction.
pub(super) struct Applier<'a> {
    connection: &'a Connection,
    batch: &'a Batch,
    partitions: u32,
    /// The fenced partitions of the batch, and their current epochs.
    fenced: Vec<(Partition, Epoch)>,
    /// The statements of this batch, ready to be executed again: even a lookup in the connection's cache
    /// takes time.
    ready: RefCell<Vec<(&'static str, CachedStatement<'a>)>>,
}

impl<'a> Applier<'a> {
    /// Checks the epochs, and reports the batch's time to each partition that is not fenced.
    pub(super) fn begin(
        connection: &'a Connection,
        batch: &'a Batch,
        partitions: u32,
        owners: &mut Owners,
    ) -> Result<Self, Error> {
        let fenced = owners.fence(connection, batch)?;
        Ok(Self { connection, batch, partitions, fenced, ready: RefCell::default() })
    }

    /// Applies the batch and returns the verdict on each write, in order.
    pub(super) fn apply(mut self) -> Result<Vec<Verdict>, Error> {
        for config in &self.batch.configs {
            let sql = "INSERT INTO drystone_config VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            let (definition, fingerprint) = (config.definition.as_str(), bits(config.fingerprint.0));
            self.execute(sql, params![definition, fingerprint, Payload(&config.body)])?;
        }
        self.batch.writes.iter().map(|write| self.write(write)).collect()
    }

    fn write(&mut self, write: &Write) -> Result<Verdict, Error> {
        if let Some(verdict) = self.barred(write) {
            return Ok(verdict);
        }
        // Use a savepoint only if necessary: it copies every page that is changed, which costs more than most
        // writes.
        let outcome = if may_stop_halfway(write) { self.in_savepoint(write) } else { self.at_once(write) };
        match outcome {
            Ok(()) => Ok(Verdict::Applied),
            Err(Fault::Verdict(verdict)) => Ok(verdict),
            Err(Fault::Sql(error)) => Err(error),
        }
    }

    fn barred(&self, write: &Write) -> Option<Verdict> {
        if let Some((_, epoch)) = self.fenced.iter().find(|(fenced, _)| *fenced == write.partition) {
            return Some(Verdict::Fenced(*epoch));
        }
        if !self.batch.epochs.iter().any(|(named, _)| *named == write.partition) {
            return Some(Verdict::Refused(format!("the batch names no epoch of partition {}", write.partition.0)));
        }
        write.check(self.partitions).err().map(Verdict::Refused)
    }

    /// Applies a write that cannot be refused after its guard has held, once puts into dropped lanes are
    /// ruled out.
    fn at_once(&mut self, write: &Write) -> Result<(), Fault> {
        match self.lanes_are_there(write) {
            // The write is stale as well, and that verdict takes precedence.
            Err(Fault::Verdict(_)) if self.version_of(&write.key)? != expected(write) => self.guard(write),
            Err(fault) => Err(fault),
            Ok(()) => {
                self.guard(write)?;
                self.rest(write)
            }
        }
    }

    fn in_savepoint(&mut self, write: &Write) -> Result<(), Fault> {
        self.execute("SAVEPOINT one_write", [])?;
        let outcome = self.guard(write).and_then(|()| {
            self.lanes(write)?;
            self.lanes_are_there(write)?;
            self.rest(write)
        });
        if matches!(outcome, Err(Fault::Verdict(_))) {
            self.execute("ROLLBACK TO one_write", [])?;
        }
        if !matches!(outcome, Err(Fault::Sql(_))) {
            self.execute("RELEASE one_write", [])?;
        }
        outcome
    }

    /// Applies the guard and the record. The guard statement comes first: if it changes no row, another owner
    /// has committed, and nothing else of this write may be written.
    fn guard(&mut self, write: &Write) -> Result<(), Fault> {
        let changed = match (&write.after, write.guard) {
            (After::Entity(after), Guard::At { version, .. }) => self.update(write, after, version)?,
            (After::Entity(after), Guard::Absent) => {
                self.with(entity::INSERT, |insert| entity::insert(insert, write.partition, after))?
            }
            (After::Destroyed, Guard::At { id, version }) => self.destroy(id, version)?,
            (_, Guard::Absent) => usize::from(self.version_of(&write.key)?.is_none()),
            (After::Unbound, Guard::At { .. }) => 0,
        };
        if changed == 1 {
            return Ok(());
        }
        match (&write.after, write.guard, self.version_of(&write.key)?) {
            (After::Entity(born), Guard::Absent, None) => {
                Err(Fault::Verdict(Verdict::Refused(format!("the id {} was given out before", born.id))))
            }
            (_, _, found) => Err(Fault::Verdict(Verdict::Stale(found))),
        }
    }

    fn update(&mut self, write: &Write, after: &Entity, before: Version) -> Result<usize, Error> {
        let (version, head, state) = (Signed(after.version), Payload(&after.head), Payload(&after.state));
        let (at, id, before_signed) = (after.updated_at.0, Signed(after.id), Signed(before));
        let (alarm, active) = (after.alarm.map(|at| at.0), after.active);
        let (word, phase) = (after.status.word.as_str(), entity::phase_number(after.status.phase));
        match write.touched {
            Touched::Record => self.execute(LIGHT, params![version, head, state, at, id, before_signed]),
            Touched::Wake => self.execute(WAKE, params![version, head, state, at, id, before_signed, alarm, active]),
            Touched::Status => {
                let values = params![version, head, state, at, id, before_signed, alarm, active, word, phase];
                self.execute(STATUS, values)
            }
            Touched::All => entity::update_all(self.connection, after, before),
        }
    }

    fn destroy(&self, id: Version, version: Version) -> Result<usize, Error> {
        let sql = "DELETE FROM drystone_entity WHERE id = ?1 AND version = ?2";
        let changed = self.execute(sql, params![Signed(id), Signed(version)])?;
        if changed == 1 {
            self.execute("INSERT INTO drystone_gone VALUES (?1, 1, '', 0)", [Signed(id)])?;
        }
        Ok(changed)
    }

    fn version_of(&self, key: &Key) -> Result<Option<Version>, Error> {
        let sql = "SELECT version FROM drystone_entity WHERE space = ?1 AND key = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let version = |row: &rusqlite::Row<'_>| row.get(0).map(|found| Version(number(found)));
        statement.query_row(params![key.space.as_str(), &key.key[..]], version).optional()
    }

    fn rest(&self, write: &Write) -> Result<(), Fault> {
        if let After::Entity(entity) = &write.after {
            self.rows(entity.id, write)?;
        }
        self.inbox(write)?;
        for sent in &write.sent {
            self.send(write, sent)?;
        }
        write.remember.iter().try_for_each(|reply| self.remember(write, reply))
    }

    fn lanes(&self, write: &Write) -> Result<(), Fault> {
        let drop = "INSERT INTO drystone_gone VALUES (?1, 0, ?2, ?3) ON CONFLICT DO UPDATE SET held = excluded.held";
        if let Some(id) = write.entity() {
            for dropped in &write.drop {
                self.execute(drop, params![Signed(id), dropped.lane.as_str(), dropped.held])?;
            }
        }
        let release = "UPDATE drystone_gone SET held = 0 WHERE entity = ?1 AND whole = 0 AND lane = ?2 AND held = 1";
        for (id, lane) in &write.release {
            self.execute(release, params![Signed(*id), lane.as_str()])?;
        }
        Ok(())
    }

    /// Refuses puts into dropped lanes. The rows are ordered by lane, so each lane is checked once.
    fn lanes_are_there(&self, write: &Write) -> Result<(), Fault> {
        let After::Entity(entity) = &write.after else { return Ok(()) };
        let mut open: Option<&Lane> = None;
        for ((lane, _), _) in write.rows.iter().filter(|(_, body)| body.is_some()) {
            if open != Some(lane) {
                self.refuse_dropped(entity.id, lane)?;
                open = Some(lane);
            }
        }
        Ok(())
    }

    fn rows(&self, id: Version, write: &Write) -> Result<(), Fault> {
        let put = "INSERT INTO drystone_row VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET body = excluded.body";
        let remove = "DELETE FROM drystone_row WHERE entity = ?1 AND lane = ?2 AND key = ?3";
        for ((lane, key), body) in write.rows.iter() {
            match body {
                Some(body) => self.execute(put, params![Signed(id), lane.as_str(), &key[..], Payload(body)])?,
                None => self.execute(remove, params![Signed(id), lane.as_str(), &key[..]])?,
            };
        }
        Ok(())
    }

    fn refuse_dropped(&self, id: Version, lane: &Lane) -> Result<(), Fault> {
        let sql = "SELECT 1 FROM drystone_gone WHERE entity = ?1 AND whole = 0 AND lane = ?2";
        if self.with(sql, |statement| statement.exists(params![Signed(id), lane.as_str()]))? {
            return Err(Fault::Verdict(Verdict::Refused(format!("the lane {lane} of {id} was dropped"))));
        }
        Ok(())
    }

    fn inbox(&self, write: &Write) -> Result<(), Fault> {
        let (partition, space, key) = (write.partition.0, write.key.space.as_str(), &write.key.key[..]);
        let take =
            "DELETE FROM drystone_inbox WHERE partition = ?1 AND space = ?2 AND key = ?3 AND version = ?4 AND idx = ?5";
        for id in &write.taken {
            let taken = self.execute(take, params![partition, space, key, Signed(id.version), id.index])?;
            if taken == 0 {
                return Err(stale(write));
            }
        }
        let retry = "UPDATE drystone_inbox SET attempts = ?6, at = ?7 \
             WHERE partition = ?1 AND space = ?2 AND key = ?3 AND version = ?4 AND idx = ?5";
        for again in &write.retry {
            let (version, index) = (Signed(again.id.version), again.id.index);
            self.execute(retry, params![partition, space, key, version, index, again.attempts, again.at.0])?;
        }
        Ok(())
    }

    fn send(&self, write: &Write, sent: &Outgoing) -> Result<(), Fault> {
        Ok(put_message(self.connection, &write.key, self.batch.now, sent)?)
    }

    fn remember(&self, write: &Write, reply: &Remembered) -> Result<(), Fault> {
        let sql = "INSERT INTO drystone_remembered (space, key, once, hash, expires_at, reply) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE \
             SET hash = excluded.hash, expires_at = excluded.expires_at, reply = excluded.reply \
             WHERE drystone_remembered.expires_at <= ?7";
        let (space, key, once) = (write.key.space.as_str(), &write.key.key[..], &reply.once[..]);
        let (hash, until, body) = (bits(reply.hash), reply.expires_at.0, Payload(&reply.reply));
        if self.execute(sql, params![space, key, once, hash, until, body, self.batch.now.0])? == 0 {
            return Err(stale(write));
        }
        Ok(())
    }

    fn execute(&self, sql: &'static str, parameters: impl rusqlite::Params) -> Result<usize, Error> {
        self.with(sql, |statement| statement.execute(parameters))
    }

    fn with<T>(
        &self,
        sql: &'static str,
        code: impl FnOnce(&mut Statement<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut ready = self.ready.borrow_mut();
        if let Some((_, statement)) = ready.iter_mut().find(|(other, _)| std::ptr::eq(*other, sql)) {
            return code(statement);
        }
        let mut statement = self.connection.prepare_cached(sql)?;
        let outcome = code(&mut statement);
        ready.push((sql, statement));
        outcome
    }
}

/// Returns the verdict on a write whose guard held while another condition did not. The version found is that
/// of the guard.
fn stale(write: &Write) -> Fault {
    Fault::Verdict(Verdict::Stale(expected(write)))
}

/// Returns the version that the guard names.
fn expected(write: &Write) -> Option<Version> {
    match write.guard {
        Guard::At { version, .. } => Some(version),
        Guard::Absent => None,
    }
}

/// Whether a part of the write can still be refused after the guard has held.
fn may_stop_halfway(write: &Write) -> bool {
    !(write.drop.is_empty() && write.release.is_empty() && write.taken.is_empty() && write.remember.is_empty())
}

/// Puts a message into the inbox of its receiver, unless it exists there.
pub(super) fn put_message(connection: &Connection, from: &Key, now: Millis, sent: &Outgoing) -> Result<(), Error> {
    let sql = "INSERT INTO drystone_inbox VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?12) ON CONFLICT DO NOTHING";
    let values = params![
        sent.partition.0,
        sent.to.space.as_str(),
        &sent.to.key[..],
        Signed(sent.id.version),
        sent.id.index,
        from.space.as_str(),
        &from.key[..],
        sent.definition.as_str(),
        sent.verb.as_str(),
        now.0,
        Payload(&sent.body),
        sent.mark.map(|mark| bits(mark.number())),
    ];
    connection.prepare_cached(sql)?.execute(values).map(drop)
}
