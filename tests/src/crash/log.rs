//! The log that every entity of this program keeps in rows: the operations that it took, in order.
//!
//! A sum hides one lost and one doubled operation. A log names both.

use anyhow::{Result, bail};
use bytes::{BufMut, Bytes, BytesMut};
use drystone_runtime::{
    Range, Row, Store, Version,
    store::{Found, Read},
};

use super::op::Op;

const LANE: &str = "log";
const PAGE: u32 = 500;

/// One line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The place in the log, from 1.
    pub(super) nth: u64,
    pub(super) op: Op,
    /// Whether this is the operation that killed the process, and acted on nothing.
    pub(super) crashed: bool,
}

impl Entry {
    /// The row of this entry.
    pub(super) fn row(self) -> Row {
        let mut body = BytesMut::with_capacity(9);
        body.put_u64(self.op.0);
        body.put_u8(u8::from(self.crashed));
        Row { lane: LANE.into(), key: place(self.nth), body: body.freeze() }
    }

    fn read(row: &Row) -> Option<Self> {
        let nth = u64::from_be_bytes(row.key.as_ref().try_into().ok()?);
        Some(Self { nth, op: Op::decode(&row.body)?, crashed: *row.body.get(8)? == 1 })
    }
}

fn place(nth: u64) -> Bytes {
    nth.to_be_bytes().to_vec().into()
}

/// Reads the whole log of an entity.
pub(super) async fn read(store: &dyn Store, entity: Version) -> Result<Vec<Entry>> {
    let mut log: Vec<Entry> = Vec::new();
    loop {
        let from = log.last().map(|entry| place(entry.nth + 1));
        let range = Range { from, ..Range::first(LANE, PAGE) };
        let found = store.read(&[Read::Rows { entity, range }]).await?;
        let [Found::Rows(rows)] = found.as_slice() else { bail!("the store answered with something else") };
        if rows.is_empty() {
            return Ok(log);
        }
        for row in rows {
            let Some(entry) = Entry::read(row) else { bail!("a row of the log cannot be read") };
            log.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let entry = Entry { nth: 300, op: Op(7), crashed: true };
        assert_eq!(Entry::read(&entry.row()), Some(entry));
    }
}
