//! The continuous entity: it counts its ticks, of which every fifth fails at first.

use drystone::{Context, primitive};
use serde::{Deserialize, Serialize};

use super::super::part::Part;

/// The ticks that succeeded: how many, for a list of them would grow with every tick.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Clock {
    pub(super) ticks: u64,
    /// The number of the last one.
    pub(super) last: u64,
    /// Ticks that came with the number of an earlier one.
    pub(super) again: u64,
    /// Ticks that were told of another number of successes than are counted here.
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

/// The number in `clock-7f-tick/12`.
fn number(work: &str) -> Option<u64> {
    work.rsplit_once('/')?.1.parse().ok()
}
