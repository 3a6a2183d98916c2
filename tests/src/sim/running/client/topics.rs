//! The requests of callers to topics and to listeners.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Ask, Client};
use crate::sim::{
    apps::Hark,
    drawing::roster::{Number, Role, SHELVES},
};

/// The event name of each sort of topic.
const EVENTS: [&str; 7] = ["News", "News", "Notice", "Job", "Job", "Bulletin", "Task"];

impl Client {
    /// Publishes one or several events on a topic.
    pub(super) async fn publish(&mut self, member: Number, role: Role) {
        let key = self.world.cast.member(member).key.key.clone();
        let shelf = key.strip_prefix(b"Task/").and_then(|shelf| str::from_utf8(shelf).ok());
        let topic = json!({ "event": format!("{role:?}"), "key": shelf });
        for _ in 0..self.chance.between(1, 3) {
            let number = self.number();
            let event = json!({ "number": number, "shelf": shelf.and_then(|shelf| shelf.parse::<u8>().ok()) });
            let body = json!([{ "topic": topic, "options": options(role), "event": event }]);
            let ask = Ask::verb(self, member, "publish", Bytes::from(body.to_string()));
            self.ask_and_keep(&Ask { number, ..ask }).await;
        }
    }

    /// Starts a listener if there is none, or else makes a request to it.
    pub(super) async fn listen(&mut self, member: Number) {
        if self.world.witness.entity(member).is_none() {
            return self.begin_to_listen(member).await;
        }
        let verb = match self.chance.below(20) {
            0 => "cancel",
            1 => "terminate",
            2 | 3 if self.world.swarm.traffic.pauses => "pause",
            2..6 => "resume",
            6 | 7 => "result",
            8..16 => return self.tell_listener(member).await,
            _ => "status",
        };
        let mut ask = Ask::verb(self, member, verb, Bytes::from_static(b"[]"));
        // A caller stops waiting for a result some day, because it may never come.
        ask.once &= verb != "result";
        self.ask_and_keep(&ask).await;
    }

    async fn begin_to_listen(&mut self, member: Number) {
        let harks: Vec<Hark> = (0..self.chance.between(1, 4)).map(|_| self.hark()).collect();
        if self.chance.permille(150) {
            let (number, name, event) = self.targeted();
            let verb = self.chance.pick(&["start_with", "send_or_start"]);
            let ask = Ask::verb(self, member, verb, Bytes::from(json!([[harks], name, event]).to_string()));
            self.ask_and_keep(&Ask { number, ..ask }).await;
            return;
        }
        self.say(member, "start", &json!([harks])).await;
    }

    /// Sends events directly to a listener. Direct events never reach other runs.
    async fn tell_listener(&mut self, member: Number) {
        for _ in 0..self.chance.between(1, 2) {
            let (number, name, event) = self.targeted();
            let ask = Ask::verb(self, member, "send", Bytes::from(json!([name, event]).to_string()));
            self.ask_and_keep(&Ask { number, ..ask }).await;
        }
    }

    /// Draws an event to send. Returns number, name and body.
    fn targeted(&mut self) -> (u64, &'static str, Value) {
        let (number, name) = (self.number(), self.chance.pick(&EVENTS));
        let shelf = (name == "Task").then(|| self.chance.below(SHELVES.into()));
        (number, name, json!({ "number": number, "shelf": shelf }))
    }

    fn hark(&mut self) -> Hark {
        let topic = self.chance.pick(&EVENTS).to_owned();
        let shelf = self.chance.below(SHELVES.into()) as u8;
        // A body publishes by calling the topic in its own process, which must own the topic. With a single
        // process this always holds.
        let may_say = self.world.swarm.processes.count == 1;
        let says = (may_say && self.chance.permille(250)).then(|| self.number());
        let sleep_ms = if self.chance.permille(250) { self.chance.pick(&[30, 600, 900]) } else { 0 };
        let mut hark = Hark { topic, shelf, says, sleep_ms, times: 1, timeout_ms: None, race_ms: None, twice: false };
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

/// The options of a topic, as the author's event type declares them.
pub(super) fn options(role: Role) -> Value {
    const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
    let (deliver, from, keep_for_ms, max_pending) = match role {
        Role::News => ("all", "wait", WEEK_MS, 10_000),
        Role::Notice => ("all", "start", WEEK_MS, 10_000),
        Role::Bulletin => ("all", "created", WEEK_MS, 3),
        Role::Task => ("one", "wait", 2_000, 2),
        _ => ("one", "wait", 2_000, 10_000),
    };
    json!({ "deliver": deliver, "from": from, "keep_for_ms": keep_for_ms, "max_pending": max_pending })
}
