//! Callers. Each makes one call after another to the process that it believes to be the owner, and records
//! the answers.

mod ask;
mod asking;
mod deeds;
mod errands;
mod primitives;
mod queues;
mod topics;
mod transactions;

use std::{sync::Arc, time::Duration};

use ask::Ask;
use asking::Heard;

use super::world::World;
use crate::sim::{
    check::{Answer, Asked},
    drawing::{
        random::Chance,
        roster::{Number, Role},
    },
    recording::log::Class,
};

/// One caller.
pub struct Client {
    world: Arc<World>,
    name: u64,
    numbered: u64,
    chance: Chance,
    /// The process that the last answer named as the owner.
    guess: Option<usize>,
    /// The process that was asked last.
    last: usize,
}

impl Client {
    /// Creates the caller of this name. Names begin at 1.
    pub fn new(world: Arc<World>, name: u64) -> Self {
        let chance = world.chance();
        Self { world, name, numbered: 0, chance, guess: None, last: 0 }
    }

    /// Makes all calls of this caller.
    pub async fn run(mut self) {
        if self.name == 1 {
            self.doom().await;
        }
        for _ in 0..self.world.swarm.traffic.calls {
            self.pause().await;
            self.act().await;
        }
        self.world.client_is_done();
    }

    async fn act(&mut self) {
        if self.chance.permille(self.world.swarm.traffic.transactions) {
            return self.transact().await;
        }
        let members: Vec<_> = self.world.cast.drawn().map(|(number, member)| (number, member.role)).collect();
        let (mut member, role) = self.chance.pick(&members);
        let mut children = self.world.cast.children();
        children.retain(|child| self.world.witness.entity(*child).is_some());
        if role == Role::Errand && !children.is_empty() && self.chance.permille(400) {
            member = self.chance.pick(&children);
        }
        if self.chance.permille(60) {
            return self.look(member).await;
        }
        let ask = match role {
            Role::Counter => return self.counter(member).await,
            Role::Line => return self.line(member).await,
            Role::Caller => return self.visit(member).await,
            Role::Relay if self.chance.permille(300) => return self.ping(member).await,
            Role::Relay if self.chance.permille(60) => return self.mistake(member).await,
            Role::Relay => Ask::go(self, member),
            Role::Alarmist => Ask::arm(self, member),
            Role::Ticker => Ask::tick(self, member),
            Role::Worker => Ask::work(self, member),
            Role::Doomed | Role::Nobody | Role::Letters | Role::Till => return,
            role => return self.primitive(member, role).await,
        };
        self.tell(ask).await;
    }

    /// Calls a counter. At the end of the history this call is compared with all others of the counter.
    async fn counter(&mut self, member: Number) {
        let (ask, asked) = Ask::count(self, member);
        let number = ask.number;
        let handle = self.world.counters.asks(member, number, asked, self.world.chronicle.moment());
        let (answer, told) = match self.ask(&ask).await {
            Heard::Told(bytes) => match Answer::of(&bytes) {
                Some(answer) => (answer, Some(bytes)),
                None => return self.misheard(&ask, &format!("{bytes:?}")),
            },
            Heard::Refused(_) => (Answer::Refused, None),
            Heard::Mismatch | Heard::Mistyped => return self.misheard(&ask, "another call's error"),
            Heard::Nothing => return,
        };
        if asked == Asked::Fail && answer != Answer::Refused {
            self.misheard(&ask, "it was to fail");
        }
        self.world.counters.answered(handle, answer, self.world.chronicle.moment());
        if let Some(bytes) = told.filter(|_| ask.once && asked == Asked::Add)
            && self.chance.permille(200)
        {
            self.repeat(&ask, &bytes).await;
        }
    }

    /// Makes a call whose answer says only that the call was accepted.
    async fn tell(&mut self, ask: Ask) {
        if let Heard::Refused(why) = self.ask(&ask).await
            && !ask.may_be_refused
            && !self.world.witness.durable().story(ask.member).is_parked()
        {
            self.misheard(&ask, &why);
        }
    }

    /// Binds the doomed entity and has a relay send the message that kills the process.
    async fn doom(&mut self) {
        let doomed = self.world.cast.with(Role::Doomed);
        let (Some(doomed), Some(relay)) = (doomed.first(), self.world.cast.with(Role::Relay).first().copied()) else {
            return;
        };
        let mut bind = Ask::go(self, *doomed);
        (bind.once, bind.may_be_refused) = (true, false);
        self.tell(bind).await;
        let mut doom = Ask::go(self, relay);
        (doom.once, doom.verb) = (true, "doom");
        self.tell(doom).await;
    }

    async fn pause(&mut self) {
        let traffic = &self.world.swarm.traffic;
        let micros = self.chance.between(0, traffic.pause_ms * 1_000);
        let until = self.world.executor.monotonic() + Duration::from_micros(micros);
        let until =
            if traffic.in_step { Duration::from_millis(until.as_millis() as u64 / 30 * 30 + 30) } else { until };
        self.world.executor.sleep_until(until).await;
    }

    fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.name << 32 | self.numbered
    }

    fn misheard(&self, ask: &Ask, answer: &str) {
        let key = &self.world.cast.member(ask.member).key;
        let message = format!("{key} answered {ask:x?} with {answer}");
        self.world.chronicle.violation(Class::Broken, "E9", message);
    }
}
