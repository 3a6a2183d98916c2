//! Scripts over the store in memory, for simulations. The store's own rows record which scripts were run; the
//! author's tables are kept by the caller.

use super::{
    Memory,
    tables::{Slot, Tables},
};
use crate::{
    Epoch, Key, Millis, Partition,
    planted::Bug,
    store::{
        Letter, Outgoing,
        sql::{Claim, EachRow, Script, Scripted, SqlFault, SqlValue, Statements},
    },
};

/// Author tables that can be rolled back.
pub trait Savepoints: Statements {
    /// Sets a savepoint.
    fn save(&mut self);

    /// Restores the tables to the last savepoint.
    fn roll_back(&mut self);
}

impl Memory {
    /// Runs scripts one after another, as a store with SQL does (W6). The store's lock is held, so nothing
    /// else is written meanwhile.
    pub fn run_scripts(&self, scripts: &[Script], authors: &mut dyn Savepoints) -> Vec<Scripted> {
        let mut tables = self.tables();
        scripts.iter().map(|script| tables.run(script, authors)).collect()
    }
}

impl Tables {
    fn run(&mut self, script: &Script, authors: &mut dyn Savepoints) -> Scripted {
        if script.fence.is_some_and(|(partition, epoch)| self.epoch_of(partition) != Some(epoch)) {
            return Scripted::Fenced;
        }
        if let Some(scripted) = script.claim.as_ref().and_then(|claim| self.answered(claim)) {
            return scripted;
        }
        authors.save();
        let mut posted = Posted { authors, messages: Vec::new() };
        match (script.code)(&mut posted) {
            Ok(value) => {
                for (slot, letter) in posted.messages {
                    self.inbox.entry(slot).or_insert(letter);
                }
                if let Some(claim) = &script.claim {
                    self.rows.insert((claim.entity, claim.lane.clone(), claim.key.clone()), value.clone());
                }
                Scripted::Done(value)
            }
            Err(outcome) => {
                if !Bug::FailedRowsKept.planted() {
                    authors.roll_back();
                }
                Scripted::Ended(*outcome)
            }
        }
    }

    fn epoch_of(&self, partition: Partition) -> Option<Epoch> {
        self.owners.get(partition.0 as usize).map(|owner| owner.epoch)
    }

    /// Returns the result of a script that need not be run: fenced, gone, or recorded earlier.
    fn answered(&self, claim: &Claim) -> Option<Scripted> {
        let (partition, epoch) = claim.owned;
        if self.epoch_of(partition) != Some(epoch) {
            return Some(Scripted::Fenced);
        }
        let is_there = self.entities.contains_key(&claim.entity)
            && !self.dropped.contains_key(&(claim.entity, claim.lane.clone()));
        let found = self.rows.get(&(claim.entity, claim.lane.clone(), claim.key.clone())).filter(|_| is_there);
        match found {
            None => Some(Scripted::Gone),
            Some(body) if *body == claim.before || Bug::RunAgain.planted() => None,
            Some(body) => Some(Scripted::Done(body.clone())),
        }
    }
}

/// The author's tables, and the messages that the script has sent so far.
struct Posted<'a> {
    authors: &'a mut dyn Savepoints,
    messages: Vec<(Slot, Letter)>,
}

impl Statements for Posted<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault> {
        self.authors.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault> {
        self.authors.query(sql, values, each)
    }

    fn batch(&mut self, sql: &str) -> Result<(), SqlFault> {
        self.authors.batch(sql)
    }

    fn put_message(&mut self, from: &Key, now: Millis, sent: &Outgoing) -> Result<(), SqlFault> {
        let letter = Letter {
            mark: sent.mark,
            id: sent.id,
            from: from.clone(),
            definition: sent.definition.clone(),
            verb: sent.verb.clone(),
            body: sent.body.clone(),
            attempts: 0,
            at: now,
        };
        self.messages.push(((sent.partition, sent.to.clone(), sent.id), letter));
        Ok(())
    }
}
