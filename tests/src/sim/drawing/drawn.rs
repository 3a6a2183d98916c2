//! The draw of a history: everything that decides its course.

use serde::{Deserialize, Serialize};

use super::{
    parameters::Swarm,
    random::{Chance, mix},
};

/// The source of a history: its parameters, and the random stream behind every later draw.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// The seed that the parameters and the stream come from.
    pub seed: u64,
    /// The parameters: what takes part and what goes wrong.
    pub swarm: Swarm,
    /// The random stream for the rest: the order of tasks, the calls, the times of faults.
    pub chance: Chance,
}

impl Drawn {
    /// Draws the history of this seed.
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let swarm = Swarm::draw(&mut chance);
        Self { seed, swarm, chance }
    }

    /// Returns the same parameters with another random stream. Number 0 is the stream that was drawn.
    pub fn course(&self, number: u64) -> Self {
        let chance = match number {
            0 => self.chance.clone(),
            number => Chance::new(mix(self.seed) ^ number),
        };
        Self { chance, ..self.clone() }
    }
}
