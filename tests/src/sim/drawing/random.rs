//! Random numbers from a seed: the same seed gives the same history.

use serde::{Deserialize, Serialize};

/// A stream of random numbers that a seed fixes (SplitMix64: small, fast, and good enough to pick tasks and
/// faults).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chance(u64);

impl Chance {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring streams.
        Self(mix(seed ^ 0x5851_f42d_4c95_7f2d))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound < 2 {
            return 0;
        }
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns an index into a list of `count` elements.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns `true` with a probability of `share` in a thousand.
    pub fn permille(&mut self, share: u32) -> bool {
        share > 0 && self.below(1000) < u64::from(share)
    }

    /// Returns `true` half of the time.
    pub fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// Returns a random element of the list.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Returns an independent stream, so that draws in one part of the history do not shift draws in
    /// another part.
    pub fn fork(&mut self) -> Self {
        Self(mix(self.bits()))
    }
}

/// Mixes the value so that every bit of the input affects every bit of the result.
pub fn mix(value: u64) -> u64 {
    let mut mixed = value;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_its_stream() {
        let draw = |seed| {
            std::iter::repeat_with({
                let mut chance = Chance::new(seed);
                move || chance.bits()
            })
            .take(8)
            .collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn bounds_hold() {
        let mut chance = Chance::new(1);
        assert!((0..1000).all(|_| chance.below(3) < 3));
        assert!((0..1000).all(|_| (5..=6).contains(&chance.between(5, 6))));
        assert_eq!(chance.below(0), 0);
    }
}
