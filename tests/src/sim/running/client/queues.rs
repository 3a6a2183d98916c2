//! The requests of callers to queues.

use std::time::Duration;

use drystone::kinds::queue::Enqueue;
use serde_json::json;

use super::{Client, Heard};
use crate::sim::{apps::Enqueued, check, drawing::roster::Number};

impl Client {
    pub(super) async fn queue(&mut self, member: Number) {
        let traffic = &self.world.swarm.traffic;
        let (verb, body) = match self.chance.below(40) {
            0..3 => ("pause", json!([])),
            3..8 => ("resume", json!([])),
            8..11 => return self.drain(member).await,
            11 if traffic.destroys => ("destroy", json!([])),
            12 => ("status", json!([])),
            13 => ("peek", json!([3])),
            14..18 => {
                let count = self.chance.pick(&[2, 3, 6, 6, 45]);
                return self.enqueue(member, count).await;
            }
            _ => return self.enqueue_some(member).await,
        };
        self.say(member, verb, &body).await;
    }

    async fn enqueue_some(&mut self, member: Number) {
        for _ in 0..self.chance.between(1, 4) {
            self.enqueue(member, 1).await;
        }
    }

    async fn enqueue(&mut self, member: Number, count: u64) {
        let values: Vec<_> = (0..count).map(|_| self.number()).collect();
        let (priority, delay_ms) = (self.chance.pick(&[0, 0, 0, 1, 7]), self.chance.pick(&[0, 0, 0, 0, 1, 30, 250]));
        let mut how = Enqueue::new().priority(priority).delay(Duration::from_millis(delay_ms));
        if self.chance.permille(200) {
            let window = Duration::from_millis(self.chance.pick(&[20, 300, 3_000]));
            how = how.dedup(self.chance.pick(&["one", "two"]), window);
        }
        let from = self.world.chronicle.moment();
        self.world.recorder.queued.asks(&values, &Enqueued { member, priority, delay_ms, from, until: None });
        self.say(member, "enqueue", &json!([values, how])).await;
    }

    async fn drain(&mut self, member: Number) {
        let asked = self.world.chronicle.moment();
        if let Heard::Told(_) = self.say(member, "drain", &json!([])).await {
            check::drained(&self.world, member, asked);
        }
    }
}
