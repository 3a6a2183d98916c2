//! The requests of callers to primitives: verbs by name, with a JSON array of parameters.

use std::time::Duration;

use bytes::Bytes;
use drystone::dead_letters::{Filter, Page, What};
use serde_json::{Value, json};

use super::{Ask, Client, Heard};
use crate::sim::{
    drawing::roster::{Number, Role},
    recording::log::Class,
};

impl Client {
    pub(super) async fn primitive(&mut self, member: Number, role: Role) {
        match role {
            Role::Pulse | Role::Drip | Role::Chime => self.beat(member).await,
            Role::Bell => self.arm(member).await,
            Role::Gate => self.pass(member).await,
            Role::Box => self.letters(member).await,
            Role::Errand => self.errand(member).await,
            Role::Listener => self.listen(member).await,
            role if role.is_topic() => self.publish(member, role).await,
            role if role.is_queue() => self.queue(member).await,
            Role::Chest if self.chance.permille(250) => self.lay(member).await,
            _ => self.gather(member).await,
        }
    }

    async fn beat(&mut self, member: Number) {
        let (verb, body) = match self.chance.below(20) {
            0..3 => ("start", json!([])),
            3..6 => ("start", json!([{ "ticks": [] }])),
            6 => ("resume", json!([])),
            7..12 => ("stop", json!([])),
            12..18 => ("trigger", json!([])),
            18 if self.world.swarm.traffic.destroys => ("destroy", json!([])),
            _ => ("status", json!([])),
        };
        self.say(member, verb, &body).await;
    }

    async fn gather(&mut self, member: Number) {
        let traffic = &self.world.swarm.traffic;
        let verb = match self.chance.below(20) {
            0..3 => "flush",
            3 | 4 if traffic.clears => "clear",
            5 if traffic.destroys => "destroy",
            6 => "status",
            _ => return self.add(member).await,
        };
        self.say(member, verb, &json!([])).await;
    }

    async fn add(&mut self, member: Number) {
        for _ in 0..self.chance.between(1, 4) {
            let ask = Ask::add(self, member);
            self.ask_and_keep(&ask).await;
        }
    }

    async fn lay(&mut self, member: Number) {
        let ask = Ask::lay(self, member);
        self.ask_and_keep(&ask).await;
    }

    /// Takes a permit, keeps it for a while, and releases it or does not.
    async fn pass(&mut self, member: Number) {
        let destroys = self.world.swarm.traffic.destroys;
        let ask = match self.chance.below(20) {
            0 if destroys => Ask::verb(self, member, "destroy", Bytes::from_static(b"[]")),
            1 => Ask::verb(self, member, "stats", Bytes::from_static(b"[]")),
            2..10 => Ask::permit(self, member, "try_acquire"),
            _ => Ask::permit(self, member, "acquire"),
        };
        let Heard::Told(told) = self.ask_and_keep(&ask).await else { return };
        let Ok(Value::Object(granted)) = serde_json::from_slice(&told) else { return };
        let (Some(epoch), Some(number)) = (granted.get("epoch"), granted.get("number")) else { return };
        let ticket = json!([epoch, number]);
        for _ in 0..=self.chance.below(3) {
            let span = self.chance.pick(&[0, 100, 350, 450]);
            self.world.executor.sleep(Duration::from_millis(span)).await;
            if self.chance.coin() {
                self.say(member, "renew", &ticket).await;
            }
        }
        if self.chance.permille(700) {
            self.say(member, "release", &ticket).await;
        }
    }

    async fn arm(&mut self, member: Number) {
        let (after_ms, fails) = (self.chance.pick(&[0, 1, 20, 200]), self.chance.permille(200));
        let ask = Ask::bell(self, member, after_ms, fails);
        let heard = self.ask_and_keep(&ask).await;
        if fails && matches!(heard, Heard::Told(_)) {
            self.misheard(&ask, "success, and was to fail");
        }
    }

    /// Looks for a dead batch or a dead item, and replays, reads or removes it.
    async fn letters(&mut self, member: Number) {
        let what = self.chance.pick(&[What::Batch, What::Item]);
        let filter = Filter { what: Some(what), ..Filter::default() };
        let Heard::Told(page) = self.say(member, "list", &json!([filter])).await else { return };
        let Ok(page) = serde_json::from_slice::<Page>(&page) else {
            return self.world.chronicle.violation(Class::Broken, "D3", format!("a page of letters is {page:?}"));
        };
        if page.letters.is_empty() {
            return;
        }
        let letter = &page.letters[self.chance.index(page.letters.len())];
        let verb = match self.chance.below(8) {
            0 if self.world.swarm.traffic.destroys => "remove",
            1 => "get",
            _ => "replay",
        };
        self.say(member, verb, &json!([letter.id])).await;
    }

    pub(super) async fn say(&mut self, member: Number, verb: &'static str, body: &Value) -> Heard {
        let ask = Ask::verb(self, member, verb, Bytes::from(body.to_string()));
        self.ask_and_keep(&ask).await
    }

    /// Makes a request and records the call with its answer.
    pub(super) async fn ask_and_keep(&mut self, ask: &Ask) -> Heard {
        let world = self.world.clone();
        let span = world.calls.asks(&world, ask.member, ask.verb, ask.number);
        let heard = self.ask(ask).await;
        match &heard {
            Heard::Told(bytes) => world.calls.answered(&world, span, Some(bytes.clone())),
            Heard::Refused(_) => world.calls.refused(span),
            Heard::Nothing => self.must_be_heard(ask),
            Heard::Mismatch | Heard::Mistyped => self.misheard(ask, "another call's error"),
        }
        heard
    }

    /// Checks that a request without an answer was allowed to wait. The verbs of a kind do not wait for
    /// author code (E3), except `flush` and `drain`.
    fn must_be_heard(&self, ask: &Ask) {
        let may_wait = matches!(ask.verb, "flush" | "drain" | "arm" | "lay" | "acquire" | "result");
        self.world.chronicle.check(may_wait || !self.world.is_healthy(), Class::Stuck, "E3", || {
            format!("nothing was wrong, and {ask:x?} was not answered")
        });
    }
}
