//! What callers publish, and ask of those who listen.

use bytes::Bytes;
use serde_json::json;

use super::{Ask, Client};
use crate::sim::{
    authors::Hark,
    cast::{Number, Role},
};

impl Client {
    /// Publishes on a topic, several at once now and then.
    pub(super) async fn publish(&mut self, member: Number, role: Role) {
        for _ in 0..self.chance.between(1, 3) {
            let (deliver, from, keep_for_ms) = match role {
                Role::News => ("all", "wait", 7 * 24 * 60 * 60 * 1_000_u64),
                Role::Notice => ("all", "start", 7 * 24 * 60 * 60 * 1_000),
                _ => ("one", "wait", 2_000),
            };
            let options =
                json!({ "deliver": deliver, "from": from, "keep_for_ms": keep_for_ms, "max_pending": 10_000 });
            let number = self.number();
            let body = json!([{ "topic": { "event": format!("{role:?}") }, "options": options, "event": { "number": number } }]);
            let ask = Ask::verb(self, member, "publish", Bytes::from(body.to_string()));
            self.ask_and_keep(&Ask { number, ..ask }).await;
        }
    }

    /// Starts a run that listens, if there is none, or asks something of it.
    pub(super) async fn listen(&mut self, member: Number) {
        if self.world.witness.entity(member).is_none() {
            let harks: Vec<Hark> = (0..self.chance.between(1, 4)).map(|_| self.hark()).collect();
            self.say(member, "start", &json!([harks])).await;
            return;
        }
        let verb = match self.chance.below(12) {
            0 => "cancel",
            1 => "terminate",
            2 | 3 if self.world.swarm.traffic.pauses => "pause",
            2..6 => "resume",
            6 | 7 => "result",
            _ => "status",
        };
        let mut ask = Ask::verb(self, member, verb, Bytes::from_static(b"[]"));
        // Whoever waits for a result gives up some day: it may never come.
        ask.once &= verb != "result";
        self.ask_and_keep(&ask).await;
    }

    fn hark(&mut self) -> Hark {
        let topic = self.chance.pick(&["News", "News", "Notice", "Job", "Job"]).to_owned();
        let mut hark = Hark { topic, times: 1, timeout_ms: None, race_ms: None, twice: false };
        match self.chance.below(8) {
            0 => hark.times = 2,
            1 => (hark.times, hark.timeout_ms) = (2, Some(self.chance.pick(&[200, 900]))),
            2 => hark.twice = true,
            3 | 4 => hark.race_ms = Some(self.chance.pick(&[0, 30, 300, 1_500])),
            5 | 6 => hark.timeout_ms = Some(self.chance.pick(&[30, 300, 1_500])),
            _ => {}
        }
        hark
    }
}
