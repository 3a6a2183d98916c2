//! Everything that decides a history.

use serde::{Deserialize, Serialize};

use super::{
    chance::{Chance, mix},
    swarm::Swarm,
};

/// What a history is made from: the parameters, and the stream that every later draw comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The seed that all of it was drawn from.
    pub seed: u64,
    /// What takes part and what goes wrong.
    pub swarm: Swarm,
    /// Decides the rest: the order of tasks, what callers ask, when a fault strikes.
    pub chance: Chance,
}

impl Drawn {
    /// What this seed draws.
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let swarm = Swarm::draw(&mut chance);
        Self { seed, swarm, chance }
    }

    /// The same parameters with another course of events; number 0 is the course that was drawn.
    pub fn course(&self, number: u64) -> Self {
        let chance = match number {
            0 => self.chance.clone(),
            number => Chance::new(mix(self.seed) ^ number),
        };
        Self { chance, ..self.clone() }
    }
}
