//! The options of a continuous entity.

use std::time::Duration;

use serde::Serialize;

#[cfg(feature = "cron")]
use super::wall::Wall;
use crate::{
    Retry, Schedule,
    kind::{Attempts, attempts},
};

/// The options of `#[primitive(continuous, ..)]`.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    pub(super) schedule: Option<Schedule>,
    #[cfg(feature = "cron")]
    #[serde(flatten)]
    pub(super) wall: Wall,
    pub(super) first_now: bool,
    pub(super) attempts: Attempts,
    pub(super) on_exhausted: OnExhausted,
}

/// The consequence of a tick that has failed in every attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnExhausted {
    Stop,
    Continue,
    Destroy,
}

impl Options {
    /// The defaults: a tick is executed up to 3 times, a minute apart, without a time limit; then the entity
    /// stops. A schedule has no default: set one of [`every`](Self::every), [`after`](Self::after) and
    /// `cron`.
    pub const NEW: Self = Self {
        schedule: None,
        #[cfg(feature = "cron")]
        wall: Wall::NEW,
        first_now: false,
        attempts: Attempts::new(3, Retry::parse("1m")),
        on_exhausted: OnExhausted::Stop,
    };

    attempts::options!(retry, retry_with);

    /// Ticks at a fixed rate, `"59m"`: the next tick is at the first grid point after now. Grid points that
    /// passed while a tick ran, or while nothing ran, are skipped and counted (C1).
    #[track_caller]
    pub const fn every(self, interval: &str) -> Self {
        self.scheduled(Schedule::parse_every(interval))
    }

    /// Ticks with a fixed delay, `"5m"`, from the end of one tick to the next (C1).
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
    pub(super) const fn scheduled(mut self, schedule: Schedule) -> Self {
        assert!(self.schedule.is_none(), "write one of `every`, `after` and `cron`, once");
        self.schedule = Some(schedule);
        self
    }

    /// `"now"`: the first tick comes at once after `start`. By default the first tick comes after one
    /// interval.
    #[track_caller]
    pub const fn first(mut self, when: &str) -> Self {
        assert!(matches!(when.as_bytes(), b"now"), "this is not a first run; write `first = \"now\"`, or leave it out");
        self.first_now = true;
        self
    }

    /// Decides about an entity whose tick has failed in every attempt. `"stop"` (the default) leaves the
    /// entity in status `error` with its state. `"continue"` continues with the next tick. `"destroy"` ends
    /// the entity and leaves a dead letter with its last state (A3).
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

    /// Finishes the options: a schedule must be set.
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(
            self.schedule.is_some(),
            "it is not said when to run; write for example `every = \"59m\"` or `after = \"5m\"`"
        );
        #[cfg(feature = "cron")]
        let checked = self.on_the_wall();
        #[cfg(not(feature = "cron"))]
        let checked = self;
        checked
    }

    pub(super) fn schedule(&self) -> Schedule {
        self.schedule.expect("options are checked while the program is compiled")
    }

    /// Whether a tick must be admitted by the turn of its alarm before the tick runs.
    pub(super) fn is_admitted_first(&self) -> bool {
        #[cfg(feature = "cron")]
        return self.schedule().as_cron().is_some();
        #[cfg(not(feature = "cron"))]
        false
    }
}
