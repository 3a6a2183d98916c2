//! A continuous entity. Each tick writes its number.

use drystone::{Client, SqlError, Transaction, primitive};
use serde::{Deserialize, Serialize};

use super::{Writer, Written, chronicle};
use crate::crash::{op::Op, parts::outbox::Post};

/// The number of ticks that have written.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::crash) struct Chronicle {
    round: u64,
    pub(super) ticks: u64,
}

impl Chronicle {
    pub(super) fn of(round: u64) -> Self {
        Self { round, ticks: 0 }
    }
}

#[primitive(continuous, every = "20ms", first = "now", retry = "3ms")]
impl Chronicle {
    #[tick(transaction)]
    fn tick(&mut self, post: &Client<Post>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        Writer::Tick.ran();
        self.ticks += 1;
        let (keeper, op) = (chronicle(self.round), Op::of_round(self.round).start + self.ticks);
        Written { writer: Writer::Tick, keeper, op, nth: self.ticks }.write(post, sql)
    }
}
