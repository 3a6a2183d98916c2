//! A bell: an object with an alarm. The state shows the calls that armed the bell and the alarms that rang.

use std::time::Duration;

use drystone::{Context, Timestamp, primitive};
use serde::{Deserialize, Serialize};

use crate::sim::{handlers::Stage, recording::log::Class};

/// The calls of callers and their effects.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Bell {
    /// The calls that the bell has taken.
    pub asked: Vec<u64>,
    /// The call that armed the bell, and when the alarm is due.
    pub armed: Option<(u64, Timestamp)>,
    /// The calls whose alarm was replaced by a later one.
    pub replaced: Vec<u64>,
    /// The calls whose alarm has rung.
    pub rung: Vec<u64>,
}

#[primitive(object, max_attempts = 4, retry = "40ms")]
impl Bell {
    /// Sets the alarm. With `fails` the call fails, and everything must stay as it was.
    async fn arm(&mut self, number: u64, after_ms: u64, fails: bool, cx: &Context) -> Result<u64, String> {
        let span = Duration::from_millis(after_ms);
        self.asked.push(number);
        let before = self.armed.replace((number, cx.now().after(span)));
        self.replaced.extend(before.map(|(number, _)| number));
        cx.alarm_in(span);
        if fails { Err("as asked".to_owned()) } else { Ok(number) }
    }

    #[alarm]
    async fn ring(&mut self, stage: &Stage, cx: &Context) -> Result<(), String> {
        let armed = self.armed.take();
        let due = armed.is_some_and(|(_, due)| due <= cx.now());
        stage.world.chronicle.check(due, Class::Broken, "A2", || {
            format!("{} rings at {}, and is armed for {armed:?}", cx.key_text(), cx.now())
        });
        self.rung.extend(armed.map(|(number, _)| number));
        stage.act(cx).await
    }
}
