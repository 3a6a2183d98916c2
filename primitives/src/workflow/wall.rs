//! What `#[workflow(cron = ..)]` sets: when runs are started, and what becomes of times that passed.

use serde::Serialize;

use super::Options;
use crate::{Cron, cron::Zone};

/// The options beside `cron`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Wall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cron: Option<Cron>,
    /// It is a part of the schedule.
    #[serde(skip)]
    zone: Option<Zone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
}

/// What becomes of times at which it could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Missed {
    Skip,
    Once,
    Backfill,
}

/// What becomes of a time that comes while the run before still goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Overlap {
    Skip,
    Queue,
    Parallel,
}

impl Wall {
    pub(super) const NEW: Self = Self { cron: None, zone: None, missed: None, overlap: None };

    pub(super) fn missed(&self) -> Missed {
        self.missed.unwrap_or(Missed::Once)
    }

    pub(super) fn overlap(&self) -> Overlap {
        self.overlap.unwrap_or(Overlap::Skip)
    }

    const fn zoned(mut self) -> Self {
        if let (Some(cron), Some(zone)) = (self.cron, self.zone) {
            self.cron = Some(cron.in_zone(zone));
        }
        self
    }
}

impl Options {
    /// A run at each time of the clock on the wall, once a key is scheduled: `"0 9 * * MON"`. See [`Cron`].
    #[track_caller]
    #[must_use]
    pub const fn cron(self, expression: &str) -> Self {
        self.cron_with(Cron::new(expression))
    }

    /// [`cron`](Self::cron) from a constant.
    #[track_caller]
    #[must_use]
    pub const fn cron_with(mut self, cron: Cron) -> Self {
        self.wall.cron = Some(cron);
        self.wall = self.wall.zoned();
        self
    }

    /// Whose clock: `"Europe/Berlin"`. That of the constant, or UTC, unless said.
    #[track_caller]
    #[must_use]
    pub const fn zone(mut self, name: &str) -> Self {
        self.wall.zone = Some(Zone::named(name));
        self.wall = self.wall.zoned();
        self
    }

    /// What becomes of times that passed while nothing ran: `"once"` (unless said) makes up for all of them with one run, which
    /// stands for the last; `"skip"` goes on with the next, and one that would begin more than a minute late is skipped, too;
    /// `"backfill"` makes up for each, the oldest first, for the last 1,000 at most (A4).
    #[track_caller]
    #[must_use]
    pub const fn missed(mut self, what: &str) -> Self {
        self.wall.missed = Some(match what.as_bytes() {
            b"skip" => Missed::Skip,
            b"once" => Missed::Once,
            b"backfill" => Missed::Backfill,
            _ => panic!("this is none of: \"skip\", \"once\", \"backfill\""),
        });
        self
    }

    /// What becomes of a time that comes while the run before still goes: `"skip"` (unless said) leaves it out and counts it;
    /// `"queue"` starts it when that has ended, 100 may wait; `"parallel"` starts it all the same.
    #[track_caller]
    #[must_use]
    pub const fn overlap(mut self, what: &str) -> Self {
        self.wall.overlap = Some(match what.as_bytes() {
            b"skip" => Overlap::Skip,
            b"queue" => Overlap::Queue,
            b"parallel" => Overlap::Parallel,
            _ => panic!("this is none of: \"skip\", \"queue\", \"parallel\""),
        });
        self
    }
}
