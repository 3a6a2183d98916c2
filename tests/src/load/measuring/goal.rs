//! A goal, the measured value, and whether the value meets the goal.

use std::fmt;

/// One goal and the measured value.
#[derive(Clone, Copy, Debug)]
pub(in crate::load) struct Goal {
    pub(in crate::load) name: &'static str,
    pub(in crate::load) bound: Bound,
    pub(in crate::load) value: f64,
}

/// The goals that hold even on a machine that is busy with other things: counts, sizes, instructions, and
/// ratios far from their bound. `--strict` requires these.
const HOLD_ON_A_BUSY_MACHINE: &[&str] = &[
    "writes_one_key",
    "typed_call_instructions",
    "typed_add_instructions",
    "queue_done_1",
    "queue_done_100",
    "queue_deep_enqueue",
    "queue_deep_process",
    "outbox_enqueues",
    "permits_contended",
    "permits_rate",
    "steps_512_at_once",
    "transactional_steps_64_at_once",
    "events_to_1000",
    "children_1000_joined",
    "generations_memory_growth_mb",
    "generations_left_mb",
    "generations_file_mb",
    "runs_woken_once",
    "replay_10_times_longer",
    "replay_10000_s",
    "waiting_memory_mb",
    "topic_answered_10000",
    "topic_growth",
    "alarms_fired_once",
    "sleepers_memory_mb",
    "sleepers_open_s",
];

/// The bound of the value.
#[derive(Clone, Copy, Debug)]
pub(in crate::load) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Goal {
    /// Whether the goal is met even on a busy machine, if nothing is wrong.
    pub(in crate::load) fn holds_on_a_busy_machine(&self) -> bool {
        HOLD_ON_A_BUSY_MACHINE.contains(&self.name)
    }

    /// Whether the value is within the bound. A value that could not be measured (not a number) never is.
    pub(in crate::load) fn met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.value >= least,
            Bound::AtMost(most) => self.value <= most,
            Bound::Below(limit) => self.value < limit,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(out, ">= {least}"),
            Self::AtMost(most) => write!(out, "<= {most}"),
            Self::Below(limit) => write!(out, "< {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(bound: Bound, value: f64) -> bool {
        Goal { name: "goal", bound, value }.met()
    }

    #[test]
    fn a_bound_is_met_from_its_own_side() {
        assert!(met(Bound::AtLeast(0.5), 0.5) && !met(Bound::AtLeast(0.5), 0.49));
        assert!(met(Bound::AtMost(1.5), 1.5) && !met(Bound::AtMost(1.5), 1.51));
        assert!(met(Bound::Below(200.0), 199.0) && !met(Bound::Below(200.0), 200.0));
    }

    #[test]
    fn what_was_not_measured_meets_nothing() {
        assert!(!met(Bound::AtLeast(0.0), f64::NAN) && !met(Bound::AtMost(9.0), f64::NAN));
    }
}
