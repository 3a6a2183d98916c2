//! A continuous entity: counts its ticks. Every fifth tick fails at first.

use drystone::{Context, primitive};
use serde::{Deserialize, Serialize};

use crate::crash::parts::part::Part;

/// The ticks that succeeded. They are only counted, because a list would grow with every tick.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Clock {
    pub(super) ticks: u64,
    /// The number of the last tick.
    pub(super) last: u64,
    /// The number of ticks that came with the number of an earlier tick.
    pub(super) again: u64,
    /// The number of ticks that were given another count of successes than this state has.
    pub(super) astray: u64,
}

#[primitive(continuous, every = "10ms", first = "now", retry = "3ms")]
impl Clock {
    #[tick]
    async fn tick(&mut self, cx: &Context) -> Result<(), String> {
        Part::Ticks.moved();
        let number = number(&cx.work_id()).ok_or("a tick has a number")?;
        self.astray += u64::from(cx.run_count() != self.ticks);
        self.again += u64::from(number <= self.last);
        (self.ticks, self.last) = (self.ticks + 1, number);
        if number % 5 == 0 && cx.attempt() == 1 { Err("every fifth fails at first".to_owned()) } else { Ok(()) }
    }
}

/// Reads the number of a tick from its work id: 12 from `clock-7f-tick/12`.
fn number(work: &str) -> Option<u64> {
    work.rsplit_once('/')?.1.parse().ok()
}
