//! The surroundings of code: its process, and the world in which it acts.

use std::{future::pending, sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{Cx, Entity, Outcome, Work, WorkId, stable_hash};

use crate::sim::{
    drawing::{
        random::{Chance, mix},
        roster::{Number, Role},
    },
    faults::panics::on_purpose,
    recording::log::Class,
    running::{executor::Group, world::World},
};

/// A process as seen by its code.
#[derive(Clone)]
pub struct Stage {
    /// The whole world.
    pub world: Arc<World>,
    /// The number of the process.
    pub process: usize,
    /// The group of its tasks.
    pub group: Group,
}

/// The fate of one attempt of a piece of work. The seed decides it, so a repeated attempt has the same
/// fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The attempt succeeds after this time.
    Well(Duration),
    /// The attempt fails.
    Fails,
    /// The attempt panics.
    Panics,
    /// The attempt never ends by itself.
    Hangs,
    /// The attempt kills its process.
    Kills,
}

impl World {
    /// Returns the fate of an attempt.
    pub fn fate(&self, number: Number, work: &WorkId, attempt: u32) -> Fate {
        if self.guilty(number, work.as_str()) {
            return Fate::Kills;
        }
        let salt = stable_hash(&[work.as_str().as_bytes()]);
        let mut chance = Chance::new(mix(self.seed ^ salt) ^ u64::from(number) << 32 ^ u64::from(attempt));
        let well = Fate::Well(Duration::from_millis(chance.pick(&[0, 0, 3, 30, 120])));
        if !self.swarm.traffic.failing {
            return well;
        }
        match chance.below(10) {
            0..6 => well,
            6 | 7 => Fate::Fails,
            8 => Fate::Panics,
            // The alarm of an object has no timeout, so it would hang forever.
            _ if self.cast.member(number).role == Role::Bell => Fate::Fails,
            _ => Fate::Hangs,
        }
    }
}

impl Stage {
    /// Runs an attempt to its end. `end` makes the outcome of a success.
    pub async fn play(self, cx: Cx, work: Work, end: impl FnOnce() -> Outcome) -> Outcome {
        let _running = self.world.ledger.enter(&self, &cx, &work);
        match self.world.fate(self.number(&cx), &cx.work, cx.attempt) {
            Fate::Well(span) => {
                self.pause(span, || cx.heartbeat()).await;
                self.world.ledger.ends(&self, &cx);
                end()
            }
            Fate::Fails => Outcome::Failed(Bytes::from_static(b"as drawn")),
            Fate::Panics => on_purpose("as drawn"),
            Fate::Hangs => pending().await,
            Fate::Kills => {
                self.kill("work");
                pending().await
            }
        }
    }

    /// Runs an attempt with this fate, as the code of a primitive.
    pub async fn meet(&self, fate: Fate, alive: impl Fn()) -> Result<(), String> {
        match fate {
            Fate::Well(span) => {
                self.pause(span, alive).await;
                Ok(())
            }
            Fate::Fails => Err("as drawn".to_owned()),
            Fate::Panics => on_purpose("as drawn"),
            Fate::Hangs => pending().await,
            Fate::Kills => {
                self.kill("work");
                pending().await
            }
        }
    }

    /// Kills this process.
    pub fn kill(&self, by: &'static str) {
        self.world.chronicle.note(|| format!("k{} is killed by its {by}", self.process));
        let path = if by == "work" { "a process was killed by work" } else { "a process was killed by a turn" };
        self.world.chronicle.sometimes(path);
        self.world.executor.kill(self.group);
    }

    /// Checks the start of code that could act outside: the state that it sees must be durable (E4), and
    /// its process must own the key (R3).
    pub fn begins(&self, entity: Option<&Entity>, work: &Work, cx: &Cx) {
        self.world.chronicle.note(|| format!("k{} runs {} of {} #{}", self.process, work.id, cx.key, work.attempt));
        if !work.pure {
            self.world.witness.begins(self.process, entity, work, cx, self.world.clocks_are_honest());
        }
    }

    /// Checks the end of a piece of work: the time that the store takes never counts against code that
    /// succeeds (W3, fB22).
    pub fn judges(&self, entity: Option<&Entity>, work: &WorkId, attempt: u32, outcome: &Outcome) {
        let key = &entity.expect("only existing entities have work").key;
        let number = self.world.cast.number(key).expect("only the cast is run");
        let fate = self.world.fate(number, work, attempt);
        let just = match outcome {
            Outcome::TimedOut | Outcome::Silent => !matches!(fate, Fate::Well(_)) || self.world.time_is_lost(),
            _ => true,
        };
        self.world.chronicle.check(just, Class::Broken, "W3", || {
            format!("{work} of {key}, attempt {attempt}, ended with {outcome:?}, and was to be {fate:?}")
        });
    }

    /// Checks an end that the record no longer expects. Such an end may come while the commit that took the
    /// work off the list is not known to be durable. It is wrong if the code was dropped before it ended.
    pub fn late_end(&self, entity: Option<&Entity>, work: &WorkId, attempt: u32) {
        let key = &entity.expect("only existing entities have work").key;
        let dropped = self.world.ledger.was_dropped(key, work.as_str(), attempt);
        self.world.chronicle.check(!dropped, Class::Doubled, "W1", || {
            format!("an end of {work} of {key} was taken after it was dropped")
        });
    }

    /// The number of the entity.
    pub fn number(&self, cx: &Cx) -> Number {
        self.world.cast.number(&cx.key).expect("only the cast is run")
    }

    async fn pause(&self, span: Duration, alive: impl Fn()) {
        let until = self.world.executor.monotonic() + span;
        while self.world.executor.monotonic() < until {
            self.world.executor.sleep(Duration::from_millis(20).min(span)).await;
            alive();
        }
    }
}
