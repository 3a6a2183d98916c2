//! Scripts over the store in memory, for simulations: its own rows say what was run, and somebody else keeps the authors' tables.

use super::{Memory, tables::Tables};
use crate::{
    planted::Bug,
    store::sql::{Claim, Script, Scripted, Statements},
};

/// Tables of authors that can be set back.
pub trait Savepoints: Statements {
    /// From here on it may be set back.
    fn save(&mut self);

    /// Everything is as it was when it was last saved.
    fn roll_back(&mut self);
}

impl Memory {
    /// Runs scripts one after another, as a store with SQL does (W6): nobody else writes meanwhile.
    pub fn run_scripts(&self, scripts: &[Script], authors: &mut dyn Savepoints) -> Vec<Scripted> {
        let mut tables = self.tables();
        scripts.iter().map(|script| tables.run(script, authors)).collect()
    }
}

impl Tables {
    fn run(&mut self, script: &Script, authors: &mut dyn Savepoints) -> Scripted {
        if let Some(scripted) = script.claim.as_ref().and_then(|claim| self.answered(claim)) {
            return scripted;
        }
        authors.save();
        match (script.code)(as_statements(authors)) {
            Ok(value) => {
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

    /// What is known of a script before it is run.
    fn answered(&self, claim: &Claim) -> Option<Scripted> {
        let (partition, epoch) = claim.owned;
        let owner = self.owners.get(partition.0 as usize);
        if owner.is_none_or(|owner| owner.epoch != epoch) {
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

fn as_statements(authors: &mut dyn Savepoints) -> &mut dyn Statements {
    authors
}
