//! An object with an alarm. The alarm rings once, unless the candle is put out (destroyed) before. Its end
//! writes whether the alarm has rung.

use std::time::Duration;

use drystone::{Client, Context, SqlError, Transaction, primitive};
use serde::{Deserialize, Serialize};

use super::{Writer, Written, candle};
use crate::crash::{op::Op, parts::outbox::Post};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Candle {
    op: u64,
    pub(super) rung: u64,
}

#[primitive(object)]
impl Candle {
    /// Sets the alarm to ring after `millis`.
    async fn light(&mut self, op: u64, millis: u64, cx: &Context) {
        self.op = op;
        cx.alarm_in(Duration::from_millis(millis));
    }

    #[alarm(transaction)]
    fn ring(&mut self, post: &Client<Post>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        Writer::Alarm.ran();
        self.rung += 1;
        self.written(Writer::Alarm).write(post, sql)
    }

    #[destroy(transaction)]
    fn end(&mut self, post: &Client<Post>, sql: &mut Transaction<'_>) -> Result<(), SqlError> {
        Writer::Destroy.ran();
        self.written(Writer::Destroy).write(post, sql)
    }
}

impl Candle {
    fn written(&self, writer: Writer) -> Written {
        Written { writer, keeper: candle(Op(self.op)), op: self.op, nth: self.rung }
    }
}
