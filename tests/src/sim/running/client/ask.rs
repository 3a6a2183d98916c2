//! The requests of callers. A request is drawn once and stays the same at every retry.

use std::time::Duration;

use bytes::Bytes;
use drystone_runtime::{Call, Name};

use super::Client;
use crate::sim::{
    check::Asked,
    drawing::roster::{Cast, Number},
    handlers::{Way, codec::pack},
};

/// One request to one member.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) member: Number,
    pub(super) verb: &'static str,
    pub(super) body: Bytes,
    /// The number of the request's effect, unique in the history.
    pub(super) number: u64,
    /// Whether the request carries an idempotency key, so that it may be retried until there is an answer.
    pub(super) once: bool,
    /// Whether a retry does no harm even without an idempotency key.
    pub(super) harmless: bool,
    /// Whether the member's record must show an answered request.
    pub(super) recorded: bool,
    /// Whether the entity may refuse the request.
    pub(super) may_be_refused: bool,
    /// The definition to call through, if not the member's own.
    pub(super) definition: Option<&'static str>,
    /// How long each try waits for an answer.
    pub(super) patience: Duration,
}

impl Ask {
    fn new(client: &mut Client, member: Number, verb: &'static str, body: impl FnOnce(u64) -> Bytes) -> Self {
        let number = client.number();
        Self {
            member,
            verb,
            body: body(number),
            number,
            once: client.chance.permille(client.world.swarm.traffic.once_permille),
            harmless: false,
            recorded: true,
            may_be_refused: false,
            definition: None,
            patience: Duration::from_millis(client.chance.pick(&[300, 1_000, 4_000])),
        }
    }

    pub(super) fn count(client: &mut Client, member: Number) -> (Self, Asked) {
        let destroys = client.world.swarm.traffic.destroys;
        let (verb, asked) = match client.chance.below(20) {
            0..5 => ("add", Asked::Add),
            5..9 => ("run", Asked::Add),
            9..13 => ("slow", Asked::Add),
            13..17 => ("get", Asked::Get),
            17 => ("fail", Asked::Fail),
            18 => ("panic", Asked::Fail),
            _ if destroys => ("destroy", Asked::Destroy),
            _ => ("add", Asked::Add),
        };
        let mut ask = Self::new(client, member, verb, |number| pack(&[number]));
        ask.recorded = asked == Asked::Add;
        ask.harmless = asked == Asked::Get;
        ask.once &= asked != Asked::Get;
        ask.may_be_refused = true;
        (ask, asked)
    }

    pub(super) fn go(client: &mut Client, member: Number) -> Self {
        let hops = client.chance.below(3);
        Self::new(client, member, "go", |number| pack(&[u64::from(member), number, hops]))
    }

    pub(super) fn ping(client: &mut Client, member: Number, to: Number) -> Self {
        Self::new(client, member, "ping", |number| pack(&[u64::from(member), number, u64::from(to)]))
    }

    pub(super) fn seen(client: &mut Client, member: Number) -> Self {
        let ask = Self::new(client, member, "seen", |number| pack(&[u64::from(member), number, 0]));
        Self { once: false, recorded: false, ..ask }
    }

    /// A visit, which is not retried: its code may already have called other entities.
    pub(super) fn visit(client: &mut Client, member: Number, way: Way) -> Self {
        let ask = Self::new(client, member, "visit", |number| pack(&[number, way.0]));
        Self { once: false, may_be_refused: true, ..ask }
    }

    /// A call through another definition. It binds nothing, even if the key is free.
    pub(super) fn mistyped(client: &mut Client, member: Number) -> Self {
        let ask = Self::new(client, member, "wait", |number| pack(&[number]));
        Self { once: false, recorded: false, definition: Some("line"), ..ask }
    }

    pub(super) fn arm(client: &mut Client, member: Number) -> Self {
        let after_ms = client.chance.pick(&[0, 1, 20, 200, 1_500]);
        let again = client.chance.pick(&[0, 0, 1, 4]);
        Self::new(client, member, "arm", |number| pack(&[number, after_ms, again]))
    }

    pub(super) fn tick(client: &mut Client, member: Number) -> Self {
        let period_ms = client.chance.pick(&[1, 30, 300]);
        let count = client.chance.between(1, 6);
        match client.chance.below(4) {
            0 => Self { may_be_refused: true, ..Self::new(client, member, "stop", |number| pack(&[number])) },
            _ => Self::new(client, member, "begin", |number| pack(&[number, period_ms, count])),
        }
    }

    pub(super) fn work(client: &mut Client, member: Number) -> Self {
        let pieces = client.chance.between(1, 4);
        let (width, exclusive) = (client.chance.between(1, 2), client.chance.below(2));
        match client.chance.below(4) {
            0 => Self { may_be_refused: true, ..Self::new(client, member, "stop", |number| pack(&[number])) },
            _ => Self::new(client, member, "start", |number| pack(&[number, pieces, width, exclusive])),
        }
    }

    /// A verb of a primitive that leaves nothing in a record.
    pub(super) fn verb(client: &mut Client, member: Number, verb: &'static str, body: Bytes) -> Self {
        let ask = Self::new(client, member, verb, |_| body);
        let harmless = matches!(
            verb,
            "status" | "list" | "get" | "stats" | "peek" | "try_result" | "events" | "history" | "state"
        );
        Self { recorded: false, may_be_refused: true, once: ask.once && !harmless, harmless, ..ask }
    }

    pub(super) fn add(client: &mut Client, member: Number) -> Self {
        let ask = Self::new(client, member, "add", |number| Bytes::from(format!("[{number}]")));
        Self { may_be_refused: true, ..ask }
    }

    pub(super) fn lay(client: &mut Client, member: Number) -> Self {
        let ask = Self::new(client, member, "lay", |number| Bytes::from(format!("[{number}]")));
        Self { may_be_refused: true, ..ask }
    }

    /// A request for a permit. It is not retried: a permit whose answer reaches no caller is taken back.
    pub(super) fn permit(client: &mut Client, member: Number, verb: &'static str) -> Self {
        // A heavy request waits while enough permits are left for a light one, which must not overtake.
        let weight = if verb == "acquire" { client.chance.pick(&[1, 2, 2, 3]) } else { 1 };
        let ask = Self::new(client, member, verb, |_| Bytes::from(format!("[{weight}]")));
        Self { once: false, recorded: false, may_be_refused: true, ..ask }
    }

    pub(super) fn bell(client: &mut Client, member: Number, after_ms: u64, fails: bool) -> Self {
        let body = |number| Bytes::from(format!("[{number},{after_ms},{fails}]"));
        Self { may_be_refused: true, ..Self::new(client, member, "arm", body) }
    }

    pub(super) fn gate(client: &mut Client, member: Number, verb: &'static str) -> Self {
        let ask = Self::new(client, member, verb, |number| pack(&[number]));
        Self { once: false, recorded: false, may_be_refused: verb == "wait", ..ask }
    }

    pub(super) fn enter(client: &mut Client, member: Number) -> Self {
        let ask = Self::new(client, member, "enter", |number| pack(&[number]));
        Self { once: false, recorded: false, ..ask }
    }

    pub(super) fn leave(member: Number, number: u64) -> Self {
        let patience = Duration::from_secs(1);
        let body = pack(&[number]);
        let (once, harmless, recorded, may_be_refused, definition) = (false, true, false, true, None);
        Self { member, verb: "leave", body, number, once, harmless, recorded, may_be_refused, definition, patience }
    }

    pub(super) fn call(&self, cast: &Cast) -> Call {
        let member = cast.member(self.member);
        let definition = self.definition.map_or_else(|| member.role.definition(), Name::new);
        let call = Call::new(definition, member.key.key.clone(), self.verb, self.body.clone());
        let call = call.deadline(self.patience);
        if self.once { call.once(pack(&[self.number])) } else { call }
    }
}
