//! Retry plans: how often something is retried, and how long the pauses between attempts are.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::literal;

/// A retry plan: how pauses grow, how many attempts there are, how long a pause may be, and the random
/// jitter.
///
/// ```
/// use drystone::{Retry, d};
///
/// const PLAN: Retry = Retry::constant(d!("1s")).attempts(3).then(Retry::exponential(d!("2s")).capped(d!("1m")));
/// assert_eq!(PLAN.pause_after(1, 0), Some(d!("1s")));
/// assert_eq!(PLAN.pause_after(5, 0), Some(d!("4s")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The parts of the plan, one after another; at most four.
    parts: [Option<Part>; PARTS_MAX],
    jitter_percent: u8,
}

const PARTS_MAX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    growth: Growth,
    first_ms: u64,
    cap_ms: u64,
    /// Executions in this part, the first included; zero for no limit.
    attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Growth {
    Constant,
    Linear,
    Exponential,
}

impl Retry {
    /// The same pause every time.
    pub const fn constant(pause: Duration) -> Self {
        Self::of(Growth::Constant, pause)
    }

    /// A pause that grows by its first length every time: 1 s, 2 s, 3 s.
    pub const fn linear(pause: Duration) -> Self {
        Self::of(Growth::Linear, pause)
    }

    /// A pause that doubles every time: 1 s, 2 s, 4 s.
    pub const fn exponential(pause: Duration) -> Self {
        Self::of(Growth::Exponential, pause)
    }

    const fn of(growth: Growth, pause: Duration) -> Self {
        let first_ms = millis(pause);
        let part = Part { growth, first_ms, cap_ms: u64::MAX, attempts: 0 };
        Self { parts: [Some(part), None, None, None], jitter_percent: 0 }
    }

    /// Limits every pause to `longest`.
    #[must_use]
    pub const fn capped(mut self, longest: Duration) -> Self {
        let mut index = 0;
        while index < PARTS_MAX {
            if let Some(part) = &mut self.parts[index] {
                let cap_ms = millis(longest);
                part.cap_ms = if part.cap_ms < cap_ms { part.cap_ms } else { cap_ms };
            }
            index += 1;
        }
        self
    }

    /// Limits the executions to `attempts`, the first included. After [`then`](Self::then), limits only the
    /// last plan.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        let last = self.count() - 1;
        if let Some(part) = &mut self.parts[last] {
            part.attempts = attempts;
        }
        self
    }

    /// Makes each pause longer by a random share of up to `percent` percent.
    #[must_use]
    pub const fn jitter(mut self, percent: u8) -> Self {
        self.jitter_percent = percent;
        self
    }

    /// Continues with the attempts of `other` after the last attempt of this plan. A chain has at most four
    /// plans.
    #[must_use]
    pub const fn then(mut self, other: Self) -> Self {
        let (count, mut index) = (self.count(), 0);
        while index < other.count() {
            assert!(count + index < PARTS_MAX, "at most four plans one after the other");
            self.parts[count + index] = other.parts[index];
            index += 1;
        }
        if other.jitter_percent > self.jitter_percent {
            self.jitter_percent = other.jitter_percent;
        }
        self
    }

    /// Reads a plan from a literal: `"1m"` is always a minute, `"1s..1m"` doubles from a second to a minute.
    #[track_caller]
    pub const fn parse(text: &str) -> Self {
        match literal::span(text) {
            (first, None) => Self::constant(first),
            (first, Some(last)) => Self::exponential(first).capped(last),
        }
    }

    const fn count(&self) -> usize {
        let mut index = 0;
        while index < PARTS_MAX && self.parts[index].is_some() {
            index += 1;
        }
        index
    }

    /// Returns how long to wait after the execution with this number (from 1) has failed; `None` if it was
    /// the last. `seed` stands in for randomness: the same seed gives the same pause.
    pub fn pause_after(&self, attempt: u32, seed: u64) -> Option<Duration> {
        let (mut before, parts) = (0_u32, self.parts.iter().flatten());
        for part in parts {
            let end = if part.attempts == 0 { u32::MAX } else { before.saturating_add(part.attempts) };
            if attempt < end || (attempt == end && self.follows(part)) {
                return Some(self.jittered(part.pause(attempt.saturating_sub(before).max(1)), seed));
            }
            before = end;
        }
        None
    }

    /// Whether this part has a successor.
    fn follows(&self, part: &Part) -> bool {
        self.parts.iter().flatten().next_back().is_some_and(|last| !std::ptr::eq(last, part))
    }

    fn jittered(&self, pause: Duration, seed: u64) -> Duration {
        let share = u128::from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * u128::from(self.jitter_percent);
        let extra = pause.as_millis().saturating_mul(share) / (100 * u128::from(u32::MAX));
        pause.saturating_add(Duration::from_millis(u64::try_from(extra).unwrap_or(u64::MAX)))
    }
}

impl Part {
    fn pause(&self, attempt: u32) -> Duration {
        let factor = match self.growth {
            Growth::Constant => 1,
            Growth::Linear => u64::from(attempt),
            Growth::Exponential => 1_u64.checked_shl(attempt - 1).unwrap_or(u64::MAX),
        };
        Duration::from_millis(self.first_ms.saturating_mul(factor).min(self.cap_ms))
    }
}

const fn millis(span: Duration) -> u64 {
    let millis = span.as_millis();
    if millis > u64::MAX as u128 { u64::MAX } else { millis as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(plan: Retry, count: u32) -> Vec<Option<u64>> {
        (1..=count).map(|attempt| plan.pause_after(attempt, 0).map(|pause| pause.as_millis() as u64)).collect()
    }

    #[test]
    fn pauses_stay_grow_or_double_up_to_their_cap_and_end() {
        let second = Duration::from_secs(1);
        assert_eq!(pauses(Retry::constant(second).attempts(3), 3), [Some(1_000), Some(1_000), None]);
        assert_eq!(pauses(Retry::linear(second), 3), [Some(1_000), Some(2_000), Some(3_000)]);
        assert_eq!(pauses(Retry::parse("1s..3s"), 4), [Some(1_000), Some(2_000), Some(3_000), Some(3_000)]);
        assert_eq!(pauses(Retry::exponential(second), 200)[199], Some(u64::MAX));
    }

    #[test]
    fn plans_come_one_after_the_other() {
        let plan = Retry::parse("1s").attempts(2).then(Retry::parse("10s").attempts(2));
        assert_eq!(pauses(plan, 4), [Some(1_000), Some(1_000), Some(10_000), None]);
    }

    #[test]
    fn jitter_only_lengthens_and_is_the_same_for_the_same_seed() {
        let plan = Retry::parse("1s").jitter(50);
        for seed in 0..200 {
            let pause = plan.pause_after(1, seed).unwrap();
            assert_eq!(plan.pause_after(1, seed), Some(pause));
            assert!((1_000..=1_500).contains(&pause.as_millis()), "{pause:?}");
        }
    }

    #[test]
    fn a_plan_is_stored_and_read_back() {
        let plan = Retry::parse("1s..1m").attempts(5).jitter(10).then(Retry::linear(Duration::from_secs(2)));
        assert_eq!(crate::decode::<Retry>(&crate::encode(&plan).unwrap()).unwrap(), plan);
    }
}
