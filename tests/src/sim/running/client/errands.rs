//! The requests of callers to errands.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Ask, Client};
use crate::sim::{
    drawing::roster::Number,
    workflows::{HOARD, Kind, Reach, Trip},
};

impl Client {
    /// Starts the run unless it exists, and makes some requests.
    pub(super) async fn errand(&mut self, member: Number) {
        let is_there = self.world.witness.entity(member).is_some();
        if !is_there && self.chance.permille(950) {
            self.start(member).await;
        }
        for _ in 0..self.chance.between(1, 6) {
            self.pause().await;
            self.ask_errand(member).await;
        }
    }

    async fn ask_errand(&mut self, member: Number) {
        let restarts = self.world.swarm.traffic.restarts;
        let verb = match self.chance.below(48) {
            0..19 => return self.send(member).await,
            19..24 => return self.mark(member).await,
            24 => return self.start(member).await,
            25 | 26 => "cancel",
            27 => "terminate",
            28..32 => "result",
            32 => "try_result",
            33 | 34 => "status",
            35 | 36 => "events",
            37 if self.world.swarm.traffic.destroys => "destroy",
            37 => "resume",
            38 => "state",
            39 => "cancel_abandoning_steps",
            40..43 if restarts => return self.restart(member).await,
            43 if self.world.swarm.traffic.pauses => "pause",
            44 | 45 => "resume",
            _ => "history",
        };
        let body = if verb == "history" { json!([0]) } else { json!([]) };
        let mut ask = Ask::verb(self, member, verb, Bytes::from(body.to_string()));
        // A caller stops waiting for a result some day, because it may never come.
        ask.once &= verb != "result";
        self.ask_and_keep(&ask).await;
    }

    async fn start(&mut self, member: Number) {
        // Before a child exists, only its parent knows its key, so a caller must not start it.
        if self.world.cast.children().contains(&member) {
            return;
        }
        if self.chance.permille(20) {
            return self.hoard(member).await;
        }
        let trip = self.trip();
        match self.chance.below(6) {
            0 => {
                let (number, event) = self.event();
                let body = json!([[trip], event[0], event[1]]);
                let verb = self.chance.pick(&["start_with", "send_or_start"]);
                self.say_errand(member, verb, number, &body).await;
            }
            1 => self.say_errand(member, "start_or_get", trip.number, &json!([trip])).await,
            _ => self.say_errand(member, "start", trip.number, &json!([trip])).await,
        }
    }

    /// Starts a run that lets events pile up, and sends these events.
    async fn hoard(&mut self, member: Number) {
        let trip = Trip::hoard(&mut || self.number());
        self.say_errand(member, "start", trip.number, &json!([trip])).await;
        for _ in 0..HOARD {
            let (number, event) = self.event_of(Kind::Note);
            self.say_errand(member, "send", number, &event).await;
        }
    }

    /// Sends events. Several parcels are sent at once, to overflow the short queue.
    async fn send(&mut self, member: Number) {
        let kind = self.kind();
        let count = if kind == Kind::Parcel { self.chance.between(1, 5) } else { 1 };
        for _ in 0..count {
            let (number, event) = self.event_of(kind);
            self.say_errand(member, "send", number, &event).await;
        }
    }

    /// Restarts a run with the same trip, with another trip, or from one of its steps.
    async fn restart(&mut self, member: Number) {
        let body = match self.chance.below(6) {
            0 | 1 => json!([null, null, null]),
            2 => {
                let trip = self.trip();
                self.world.recorder.acted.restarts(&trip);
                json!([[trip], null, null])
            }
            _ => {
                let step = self.chance.pick(&["work", "work", "once", "book", "unwork"]);
                let place = json!({ "step": step, "nth": self.chance.between(1, 2) });
                let value =
                    (step != "unwork" && self.chance.permille(200)).then(|| [self.world.recorder.acted.gives()]);
                json!([null, place, value])
            }
        };
        let number = self.number();
        self.say_errand(member, "restart", number, &body).await;
    }

    /// Changes the state of a run by an update.
    async fn mark(&mut self, member: Number) {
        let number = self.number();
        self.say_errand(member, "mark", number, &json!([number])).await;
    }

    async fn say_errand(&mut self, member: Number, verb: &'static str, number: u64, body: &Value) {
        let ask = Ask::verb(self, member, verb, Bytes::from(body.to_string()));
        self.ask_and_keep(&Ask { number, ..ask }).await;
    }

    pub(super) fn trip(&mut self) -> Trip {
        let mut chance = self.chance.fork();
        let reach = Reach {
            calls: self.world.swarm.processes.count == 1,
            gates: self.world.swarm.traffic.gates > 0,
            outbox: self.world.swarm.traffic.transactions > 0,
            mails: self.world.swarm.traffic.mails > 0,
            panics: !self.world.swarm.traffic.restarts,
        };
        Trip::draw(&mut chance, reach, &mut || self.number())
    }

    /// Returns a random event to send, and its number.
    fn event(&mut self) -> (u64, Value) {
        let kind = self.kind();
        self.event_of(kind)
    }

    pub(super) fn kind(&mut self) -> Kind {
        self.chance.pick(&[Kind::Note, Kind::Note, Kind::Note, Kind::Price, Kind::Bid, Kind::Parcel])
    }

    fn event_of(&mut self, kind: Kind) -> (u64, Value) {
        let number = self.number();
        (number, self.event_numbered(number, kind))
    }

    pub(super) fn event_numbered(&mut self, number: u64, kind: Kind) -> Value {
        self.world.recorder.acted.sends(number, kind);
        let shelf = self.chance.below(2);
        let event = if kind == Kind::Parcel {
            json!({ "number": number, "shelf": shelf })
        } else {
            json!({ "number": number })
        };
        json!([kind.name(), event])
    }
}
