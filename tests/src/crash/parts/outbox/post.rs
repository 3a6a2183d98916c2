//! The queue of letters. It writes a row for each letter.

use drystone::{Item, SqlError, Transaction, primitive};
use serde::{Deserialize, Serialize};

use super::post;
use crate::crash::{op::Op, parts::hooks::Writer};

/// The letter that is sent with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::crash) struct Letter {
    pub(in crate::crash) writer: Writer,
    pub(in crate::crash) op: u64,
}

/// The letters that were taken: their number, and the sum of their operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::crash) struct Post {
    pub(super) taken: u64,
    pub(super) sum: u64,
}

impl Post {
    pub(super) fn take(&mut self, op: u64) {
        self.taken += 1;
        self.sum = self.sum.wrapping_add(op);
    }
}

#[primitive(queue, concurrency = 4)]
impl Post {
    #[process(transaction)]
    fn deliver(&self, letter: Item<Letter>, sql: &mut Transaction<'_>) -> Result<u64, SqlError> {
        let Letter { writer, op } = letter.value;
        writer.came();
        sql.execute("INSERT INTO delivered VALUES (?1, ?2, ?3)", (writer.word(), post(Op(op)), op))?;
        Ok(op)
    }

    #[apply]
    fn delivered(&mut self, op: u64) {
        self.take(op);
    }
}
