//! A relay: a call makes it send messages; each message is recorded and may be forwarded.

use std::pin::Pin;

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Commit, Cx, Entity, Error, Handler, Hot, Input, Key, Message, Millis, Name, Needed, Next, Now, Outcome,
    Rows, Status, Ticket, Work,
};

use super::{
    Stage, Uid, answer,
    codec::{Reader, Record, Writer, pack, unpack},
    malformed, unknown_verb,
};
use crate::sim::{
    drawing::{
        random::{Chance, mix},
        roster::{Number, Role},
    },
    faults::panics::on_purpose,
};

/// The record of a relay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Post {
    /// The calls that the relay has taken.
    pub asked: Vec<u64>,
    /// The messages that the relay has taken, in order.
    pub taken: Vec<u64>,
    /// The receivers of its messages, with the number of messages to each.
    pub sent: Vec<(Number, u32)>,
}

/// The effect of a message on its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    /// The receiver records the message.
    Plain = 0,
    /// The receiver always refuses the message.
    Poison = 1,
    /// The turn always panics.
    Panic = 2,
    /// The turn always kills its process.
    Doom = 3,
}

impl Kind {
    fn of(number: u64) -> Option<Self> {
        [Self::Plain, Self::Poison, Self::Panic, Self::Doom].into_iter().find(|kind| *kind as u64 == number)
    }
}

impl Record for Post {
    fn write(&self, out: &mut Writer) {
        out.numbers(&self.asked);
        out.numbers(&self.taken);
        out.list(&self.sent, |out, (to, count)| {
            out.number(u64::from(*to));
            out.number(u64::from(*count));
        });
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (asked, taken) = (from.numbers()?, from.numbers()?);
        let sent = from.list(|from| Some((from.number()? as Number, from.number()? as u32)))?;
        Some(Self { asked, taken, sent })
    }
}

impl Post {
    fn next(&mut self, from: Number, to: Number) -> Uid {
        let place = self.sent.iter().position(|(receiver, _)| *receiver == to).unwrap_or_else(|| {
            self.sent.push((to, 0));
            self.sent.len() - 1
        });
        self.sent[place].1 += 1;
        Uid { from, to, sequence: self.sent[place].1 }
    }
}

/// The handler.
pub(super) struct Relay(pub(super) Stage);

impl Handler for Relay {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Some(post) = Post::decode(entity.map_or(&[], |entity| &entity.state)) else {
            return Next::Park("not a post".to_owned());
        };
        match input {
            Input::Call { verb, body, ticket, .. } => self.asked(post, verb, body, *ticket),
            Input::Message { verb, body, .. } => self.told(post, verb, body),
            _ => Next::nothing(),
        }
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("a relay lists no work")
    }
}

impl Relay {
    /// Handles a call. The body has three numbers: the relay itself (a handler does not get the key of an
    /// unbound entity), the call, and an argument. `go` sends some messages that are forwarded as often as
    /// the argument says. `doom` also sends a message, which kills its receiver's process. `ping` sends one
    /// message to the member in the argument. `seen` returns the messages taken so far, in turn with the
    /// messages.
    fn asked(&self, mut post: Post, verb: &str, body: &Bytes, ticket: Ticket) -> Next {
        let Some([me, number, hops]) = unpack(body) else { return malformed(verb) };
        let mut chance = Chance::new(mix(number ^ self.0.world.seed));
        let count = chance.between(1, 3);
        let told = match verb {
            "ping" => pack(&[post.clone().next(me as Number, hops as Number).number()]),
            "seen" => return Next::Commit(Commit::reply(ticket, Ok(pack(&post.taken)))),
            _ => pack(&[post.asked.len() as u64 + 1]),
        };
        let send = match verb {
            "ping" => vec![self.plain(&mut post, me as Number, hops as Number)],
            "go" => (0..count).map(|_| self.message(&mut post, me as Number, hops, &mut chance)).collect(),
            "doom" => vec![self.doom(&mut post, me as Number)],
            _ => return unknown_verb("relay", verb),
        };
        post.asked.push(number);
        let reply = answer(Some(ticket), Ok(told));
        Next::Commit(Commit {
            state: Some(post.encode()),
            status: Some(at_rest()),
            send,
            replies: reply,
            ..Commit::default()
        })
    }

    fn told(&self, mut post: Post, verb: &str, body: &Bytes) -> Next {
        let Some([uid, hops, kind]) = unpack(body) else { return malformed(verb) };
        match Kind::of(kind) {
            Some(Kind::Plain) => {}
            Some(Kind::Poison) => return Next::Refuse(Error::Failed(Bytes::from_static(b"poison"))),
            Some(Kind::Panic) => on_purpose("as sent"),
            Some(Kind::Doom) => self.0.kill("turn"),
            None => return malformed(verb),
        }
        let mut chance = Chance::new(mix(uid ^ self.0.world.seed));
        let send = match (Uid::of(uid), hops) {
            (_, 0) => Vec::new(),
            (Some(me), hops) => vec![self.message(&mut post, me.to, hops - 1, &mut chance)],
            (None, _) => return malformed(verb),
        };
        post.taken.push(uid);
        Next::Commit(Commit { state: Some(post.encode()), status: Some(at_rest()), send, ..Commit::default() })
    }

    fn plain(&self, post: &mut Post, me: Number, to: Number) -> Message {
        let body = pack(&[post.next(me, to).number(), 0, Kind::Plain as u64]);
        let key = self.0.world.cast.member(to).key.clone();
        Message { to: key, definition: Role::Relay.definition(), verb: "pass".into(), body }
    }

    fn doom(&self, post: &mut Post, me: Number) -> Message {
        let to = self.0.world.cast.with(Role::Doomed)[0];
        let body = pack(&[post.next(me, to).number(), 0, Kind::Doom as u64]);
        let key = self.0.world.cast.member(to).key.clone();
        Message { to: key, definition: Role::Doomed.definition(), verb: "pass".into(), body }
    }

    fn message(&self, post: &mut Post, me: Number, hops: u64, chance: &mut Chance) -> Message {
        let world = &self.0.world;
        let strange = world.swarm.traffic.poison && chance.permille(150);
        let roles: &[Role] =
            if strange { &[Role::Relay, Role::Nobody] } else { &[Role::Relay, Role::Relay, Role::Counter] };
        let receivers = world.cast.with(chance.pick(roles));
        let to = chance.pick(&receivers);
        let uid = post.next(me, to).number();
        let member = world.cast.member(to);
        let (verb, body) = match member.role {
            Role::Counter => (chance.pick(&["add", "run", "slow"]), pack(&[uid])),
            _ if strange => ("pass", strange_body(uid, chance)),
            _ => ("pass", pack(&[uid, hops, Kind::Plain as u64])),
        };
        Message { to: member.key.clone(), definition: member.role.definition(), verb: Name::new(verb), body }
    }
}

fn strange_body(uid: u64, chance: &mut Chance) -> Bytes {
    match chance.below(3) {
        0 => pack(&[uid, 0, Kind::Poison as u64]),
        1 => pack(&[uid, 0, Kind::Panic as u64]),
        _ => pack(&[uid]),
    }
}

fn at_rest() -> Status {
    Status::resting("relaying")
}
