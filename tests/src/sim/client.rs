//! Callers: each makes one call after another, to whichever process it believes to be the owner, and says what
//! it was answered.

mod ask;
mod asking;

use std::{sync::Arc, time::Duration};

use ask::Ask;
use asking::Heard;

use super::{
    cast::{Number, Role},
    chance::Chance,
    check::{Answer, Asked},
    chronicle::Class,
    world::World,
};

/// One caller.
pub struct Client {
    world: Arc<World>,
    name: u64,
    numbered: u64,
    chance: Chance,
    /// Where the last owner was said to be.
    guess: Option<usize>,
}

impl Client {
    /// The caller of this name, from 1.
    pub fn new(world: Arc<World>, name: u64) -> Self {
        let chance = world.chance();
        Self { world, name, numbered: 0, chance, guess: None }
    }

    /// Makes all its calls.
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
        let members: Vec<_> = self.world.cast.iter().map(|(number, member)| (number, member.role)).collect();
        let (member, role) = self.chance.pick(&members);
        let ask = match role {
            Role::Counter => return self.counter(member).await,
            Role::Line => return self.line(member).await,
            Role::Caller => return self.visit(member).await,
            Role::Relay => Ask::go(self, member),
            Role::Alarmist => Ask::arm(self, member),
            Role::Ticker => Ask::tick(self, member),
            Role::Worker => Ask::work(self, member),
            Role::Doomed | Role::Nobody | Role::Letters => return,
        };
        self.tell(ask).await;
    }

    /// A call of a counter: it is compared with all others of that counter at the end.
    async fn counter(&mut self, member: Number) {
        let (ask, asked) = Ask::count(self, member);
        let number = ask.number;
        let handle = self.world.counters.asks(member, number, asked, self.world.chronicle.moment());
        let heard = self.ask(&ask).await;
        let answer = match heard {
            Heard::Told(bytes) => match Answer::of(&bytes) {
                Some(answer) => answer,
                None => return self.misheard(&ask, &format!("{bytes:?}")),
            },
            Heard::Refused(_) => Answer::Refused,
            Heard::Nothing => return,
        };
        if asked == Asked::Fail && answer != Answer::Refused {
            self.misheard(&ask, "it was to fail");
        }
        self.world.counters.answered(handle, answer, self.world.chronicle.moment());
    }

    /// A call whose answer says only that it was taken.
    async fn tell(&mut self, ask: Ask) {
        if let Heard::Refused(why) = self.ask(&ask).await
            && !ask.may_be_refused
        {
            self.misheard(&ask, &why);
        }
    }

    async fn line(&mut self, member: Number) {
        match self.chance.below(4) {
            0 => {
                let open = Ask::gate(self, member, "open");
                self.tell(open).await;
            }
            1 => {
                let wait = Ask::gate(self, member, "wait");
                if let Heard::Told(_) = self.ask(&wait).await {
                    self.world.chronicle.sometimes("a caller waited for a gate");
                }
            }
            _ => self.enter(member).await,
        }
    }

    /// Waits in line, is inside for a while, and leaves; also when it was never told that it was inside.
    async fn enter(&mut self, member: Number) {
        let enter = Ask::enter(self, member);
        let key = self.world.cast.member(member).key.clone();
        let heard = self.ask(&enter).await;
        if let Heard::Told(_) = heard {
            let other = self.world.ledger.let_in(&key, enter.number);
            self.world.chronicle.check(other.is_none(), Class::Broken, "S5", || {
                format!("{:x} and {:x} are both inside {key}", enter.number, other.unwrap_or_default())
            });
            self.pause().await;
            self.world.ledger.left(enter.number);
        } else {
            self.world.chronicle.sometimes("a caller left a line");
        }
        self.tell(Ask::leave(member, enter.number)).await;
    }

    /// The doomed entity is bound, then sent what kills.
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
        let span = self.chance.between(0, self.world.swarm.traffic.pause_ms * 1_000);
        self.world.executor.sleep(Duration::from_micros(span)).await;
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
