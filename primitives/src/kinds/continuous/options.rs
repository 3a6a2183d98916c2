//! What `#[primitive(continuous, ..)]` sets.

use std::time::Duration;

use serde::Serialize;

use crate::{Retry, Schedule, literal};

/// The options of `#[primitive(continuous, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    schedule: Option<Schedule>,
    pub(super) first_now: bool,
    pub(super) max_attempts: u32,
    pub(super) retry: Retry,
    pub(super) on_exhausted: OnExhausted,
    timeout_ms: Option<u64>,
}

/// What becomes of an entity whose tick has failed in every attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnExhausted {
    Stop,
    Continue,
    Destroy,
}

impl Options {
    /// The defaults: a tick is executed up to 3 times, a minute apart, for as long as it takes; then the entity stops. One
    /// of [`every`](Self::every) and [`after`](Self::after) must be said.
    pub const NEW: Self = Self {
        schedule: None,
        first_now: false,
        max_attempts: 3,
        retry: Retry::parse("1m"),
        on_exhausted: OnExhausted::Stop,
        timeout_ms: None,
    };

    /// At a fixed rate, `"59m"`: the next tick is at the first point of the grid after now; points that passed while a tick
    /// ran, or while nothing ran, are skipped and counted (C1).
    #[track_caller]
    pub const fn every(self, interval: &str) -> Self {
        self.scheduled(Schedule::parse_every(interval))
    }

    /// With a fixed delay, `"5m"`, from the end of one tick to the next (C1).
    #[track_caller]
    pub const fn after(self, delay: &str) -> Self {
        self.scheduled(Schedule::parse_after(delay))
    }

    /// [`every`](Self::every) from a constant.
    #[track_caller]
    pub const fn every_with(self, interval: Duration) -> Self {
        self.scheduled(Schedule::every(interval))
    }

    /// [`after`](Self::after) from a constant.
    #[track_caller]
    pub const fn after_with(self, delay: Duration) -> Self {
        self.scheduled(Schedule::after(delay))
    }

    #[track_caller]
    const fn scheduled(mut self, schedule: Schedule) -> Self {
        assert!(self.schedule.is_none(), "write `every` or `after` once, not both");
        self.schedule = Some(schedule);
        self
    }

    /// `"now"`: the first tick is at once after `start`. Else it is after one interval.
    #[track_caller]
    pub const fn first(mut self, when: &str) -> Self {
        assert!(matches!(when.as_bytes(), b"now"), "this is not a first run; write `first = \"now\"`, or leave it out");
        self.first_now = true;
        self
    }

    /// How often a failing tick is executed in all, the first time included; 3 unless said (C5).
    #[track_caller]
    pub const fn max_attempts(mut self, attempts: u64) -> Self {
        self.max_attempts = literal::count_u32(attempts);
        self
    }

    /// How long to wait between those executions: `"1m"`, or `"1s..1m"` for a pause that doubles; a minute unless said.
    #[track_caller]
    pub const fn retry(mut self, pause: &str) -> Self {
        self.retry = Retry::parse(pause);
        self
    }

    /// [`retry`](Self::retry) from a constant: pauses of any form.
    pub const fn retry_with(mut self, plan: Retry) -> Self {
        self.retry = plan;
        self
    }

    /// What becomes of the entity when a tick has failed in every attempt: `"stop"` (unless said) leaves it in status
    /// `error` with its state; `"continue"` goes on with the next tick; `"destroy"` ends it, and leaves a dead letter with
    /// its last state (A3).
    #[track_caller]
    pub const fn on_exhausted(mut self, what: &str) -> Self {
        self.on_exhausted = match what.as_bytes() {
            b"stop" => OnExhausted::Stop,
            b"continue" => OnExhausted::Continue,
            b"destroy" => OnExhausted::Destroy,
            _ => panic!("this is none of: \"stop\", \"continue\", \"destroy\""),
        };
        self
    }

    /// How long one execution may take; then it has failed. No limit unless said.
    #[track_caller]
    pub const fn timeout(mut self, limit: &str) -> Self {
        self.timeout_ms = Some(literal::some_duration(limit).as_millis() as u64);
        self
    }

    /// [`timeout`](Self::timeout) from a constant.
    #[track_caller]
    pub const fn timeout_with(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(literal::millis(limit));
        self
    }

    /// The options, once all are set: there must be a schedule.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(
            self.schedule.is_some(),
            "it is not said when to run; write for example `every = \"59m\"` or `after = \"5m\"`"
        );
        self
    }

    pub(super) fn schedule(&self) -> Schedule {
        self.schedule.expect("options are checked while the program is compiled")
    }

    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}
