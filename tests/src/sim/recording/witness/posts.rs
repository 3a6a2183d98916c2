//! The messages that authors' transactions put into inboxes, and their deliveries (M6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use drystone_runtime::{
    Key, MessageId, Millis,
    store::{
        Outgoing,
        sql::{EachRow, Script, SqlFault, SqlValue, Statements},
    },
};

use crate::sim::recording::{log::lock, outbox::posted_in};

/// The durable messages of transactions, by the numbers in them.
#[derive(Default)]
pub struct Posts {
    waiting: BTreeMap<MessageId, u64>,
    delivered: BTreeMap<u64, usize>,
}

impl Posts {
    /// How many times a message was delivered, that is, taken by its receiver or made a dead letter.
    pub fn delivered(&self, number: u64) -> usize {
        self.delivered.get(&number).copied().unwrap_or(0)
    }

    pub(super) fn put(&mut self, message: &Outgoing) {
        if let Some(number) = posted_in(&message.verb, &message.body) {
            self.waiting.insert(message.id, number);
        }
    }

    pub(super) fn taken(&mut self, id: MessageId) {
        if let Some(number) = self.waiting.remove(&id) {
            *self.delivered.entry(number).or_default() += 1;
        }
    }
}

/// The messages that the last run of a script's code put; `None` if the code did not run.
pub(super) type Put = Arc<Mutex<Option<Vec<(Key, Outgoing)>>>>;

/// Wraps a script to record the messages that the code puts.
pub(super) fn watched(script: &Script) -> (Script, Put) {
    let (put, code) = (Put::default(), script.code.clone());
    let said = put.clone();
    let code = Arc::new(move |statements: &mut dyn Statements| {
        let mut watched = Watched { statements, put: Vec::new() };
        let ended = code(&mut watched);
        *lock(&said) = Some(watched.put);
        ended
    });
    (Script { code, ..script.clone() }, put)
}

struct Watched<'a> {
    statements: &'a mut dyn Statements,
    put: Vec<(Key, Outgoing)>,
}

impl Statements for Watched<'_> {
    fn execute(&mut self, sql: &str, values: &[SqlValue]) -> Result<usize, SqlFault> {
        self.statements.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[SqlValue], each: &mut EachRow<'_>) -> Result<(), SqlFault> {
        self.statements.query(sql, values, each)
    }

    fn batch(&mut self, sql: &str) -> Result<(), SqlFault> {
        self.statements.batch(sql)
    }

    fn put_message(&mut self, from: &Key, now: Millis, message: &Outgoing) -> Result<(), SqlFault> {
        self.put.push((from.clone(), message.clone()));
        self.statements.put_message(from, now, message)
    }
}
