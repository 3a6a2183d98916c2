//! An object. One operation arms it, and then the alarm rings once, not too early.

use std::time::Duration;

use drystone::{Context, Never, Timestamp, primitive};
use serde::{Deserialize, Serialize};

use crate::crash::parts::part::Part;

/// The past of a note.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Note {
    pub(super) armed: u64,
    pub(super) rung: u64,
    /// How many times it rang too early.
    pub(super) early: u64,
    pub(super) due: Timestamp,
}

#[primitive(object)]
impl Note {
    /// Sets the alarm to ring after `millis`.
    async fn arm(&mut self, millis: u64, cx: &Context) {
        let span = Duration::from_millis(millis);
        self.armed += 1;
        self.due = cx.now().after(span);
        cx.alarm_in(span);
    }

    #[alarm]
    async fn ring(&mut self, cx: &Context) -> Result<(), Never> {
        Part::Alarms.moved();
        self.rung += 1;
        self.early += u64::from(cx.now() < self.due);
        cx.emit("note.rung", &());
        Ok(())
    }
}
