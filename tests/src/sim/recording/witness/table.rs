//! An author's tables in memory. Bookings write rows, and the table knows which claim wrote which row (W6).

use std::collections::BTreeMap;

use drystone_runtime::{
    Lane, RowKey, Version,
    store::{
        Savepoints,
        sql::{EachRow, Script, Scripted, SqlFault, SqlFaultKind, SqlValue, Statements},
    },
};

use serde::Deserialize;

use crate::sim::{
    apps::BOOK,
    recording::{
        log::{Chronicle, Class},
        outbox::SENT,
    },
};

/// The key of a claim: a row that records that a script ran.
type Place = (Version, Lane, RowKey);

/// The tables. A row of a booking has a task and the value of its execution.
#[derive(Default)]
pub struct Table {
    rows: Vec<(u64, u64)>,
    /// The numbers of the messages that were sent.
    sent: Vec<u64>,
    saved: (usize, usize),
    done: BTreeMap<Place, u64>,
}

impl Table {
    /// The tasks of all rows with this value.
    pub fn of(&self, value: u64) -> impl Iterator<Item = u64> {
        self.rows.iter().filter(move |(_, written)| *written == value).map(|(task, _)| *task)
    }

    /// The number of rows of a task.
    pub fn count(&self, task: u64) -> usize {
        self.rows.iter().filter(|(written, _)| *written == task).count()
    }

    /// The tasks of all rows.
    pub fn tasks(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|(task, _)| *task)
    }

    /// The number of rows for this message.
    pub fn sent(&self, number: u64) -> usize {
        self.sent.iter().filter(|sent| **sent == number).count()
    }

    /// Takes the outcomes of scripts and checks them: each claimed script that is done has a row, and no
    /// other script has left one.
    pub(super) fn ran(&mut self, chronicle: &Chronicle, scripts: &[Script], scripted: &[Scripted]) {
        for (script, scripted) in scripts.iter().zip(scripted) {
            let (Some(claim), Scripted::Done(value)) = (&script.claim, scripted) else { continue };
            let value = booked_in(value).unwrap_or(0);
            let place = (claim.entity, claim.lane.clone(), claim.key.clone());
            let is_again = self.done.contains_key(&place);
            chronicle.sometimes(if is_again { "a booking was found again" } else { "a booking was made" });
            let before = *self.done.entry(place).or_insert(value);
            chronicle.check(before == value, Class::Doubled, "W6", || {
                format!("{claim:?} was run twice: it came to {before} and to {value}")
            });
        }
        let known = self.rows.iter().filter(|(_, value)| self.done.values().any(|done| done == value)).count();
        chronicle.check(known == self.rows.len(), Class::Broken, "W6", || {
            format!("there are rows of scripts that have failed: {:?}, and done are {:?}", self.rows, self.done)
        });
        chronicle.check(known == self.done.len(), Class::Lost, "W6", || {
            format!("{} scripts are done, and there are {known} rows", self.done.len())
        });
    }
}

impl Savepoints for Table {
    fn save(&mut self) {
        self.saved = (self.rows.len(), self.sent.len());
    }

    fn roll_back(&mut self) {
        self.rows.truncate(self.saved.0);
        self.sent.truncate(self.saved.1);
    }
}

impl Statements for Table {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault> {
        match values {
            [SqlValue::Integer(task), SqlValue::Integer(value)] if sql == BOOK => {
                self.rows.push((task.cast_unsigned(), value.cast_unsigned()));
                Ok(1)
            }
            [SqlValue::Integer(number)] if sql == SENT => {
                self.sent.push(number.cast_unsigned());
                Ok(1)
            }
            _ => Err(unknown(sql)),
        }
    }

    fn query(&mut self, sql: &str, _: &[SqlValue], _: &mut EachRow<'_>) -> Result<(), SqlFault> {
        Err(unknown(sql))
    }

    fn batch(&mut self, sql: &str) -> Result<(), SqlFault> {
        Err(unknown(sql))
    }
}

/// The value of a booking, from the bytes that its code left: the value of a step, or the state of a hook.
fn booked_in(left: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Left {
        state: Option<State>,
    }
    #[derive(Deserialize)]
    struct State {
        values: Vec<u64>,
    }
    let of_a_hook = |left: Left| left.state?.values.last().copied();
    serde_json::from_slice(left).ok().or_else(|| of_a_hook(serde_json::from_slice(left).ok()?))
}

fn unknown(sql: &str) -> SqlFault {
    SqlFault::new(SqlFaultKind::Statement, format!("this table does not know `{sql}`"))
}
