//! The options of `#[workflow(cron = ..)]`: when runs start, and how missed times are handled.

use serde::Serialize;

use crate::{Cron, cron::Zone, workflow::Options};

/// The options of a schedule.
#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::workflow) struct Wall {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) cron: Option<Cron>,
    /// The time zone. It is stored as a part of `cron`.
    #[serde(skip)]
    zone: Option<Zone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
}

/// How times are handled that passed while nothing ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum Missed {
    Skip,
    Once,
    Backfill,
}

/// How a time is handled that comes while the previous run is still going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::workflow) enum Overlap {
    Skip,
    Queue,
    Parallel,
}

impl Wall {
    pub(in crate::workflow) const NEW: Self = Self { cron: None, zone: None, missed: None, overlap: None };

    pub(in crate::workflow) fn missed(&self) -> Missed {
        self.missed.unwrap_or(Missed::Once)
    }

    pub(in crate::workflow) fn overlap(&self) -> Overlap {
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
    /// Starts a run at each time of the wall clock, once a key is scheduled: `"0 9 * * MON"`. See [`Cron`].
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

    /// The time zone of the wall clock: `"Europe/Berlin"`. The default is the zone of the constant, or UTC.
    #[track_caller]
    #[must_use]
    pub const fn zone(mut self, name: &str) -> Self {
        self.wall.zone = Some(Zone::named(name));
        self.wall = self.wall.zoned();
        self
    }

    /// How times are handled that passed while nothing ran. `"once"` (default) starts a single run, for the
    /// last of these times. `"skip"` continues with the next time, and also skips a run that would begin
    /// more than a minute late. `"backfill"` starts a run for each, the oldest first, for the last 1,000 at
    /// most (A4).
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

    /// How a time is handled that comes while the previous run is still going. `"skip"` (default) skips and
    /// counts the time. `"queue"` starts its run when the previous run has ended; at most 100 times wait.
    /// `"parallel"` starts the run anyway.
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
