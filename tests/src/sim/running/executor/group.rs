//! Groups of tasks. A group is a process with its own fate and its own wall clock.

use std::time::Duration;

/// A process, or a part of the world outside all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group(pub(super) u32);

#[derive(Default)]
pub(super) struct Groups {
    fates: Vec<Fate>,
    /// The furthest that any wall clock was ever ahead, in milliseconds.
    pub(super) furthest_ms: i64,
}

struct Fate {
    alive: bool,
    frozen_until: Duration,
    offset_ms: i64,
}

impl Groups {
    pub(super) fn add(&mut self) -> Group {
        self.fates.push(Fate { alive: true, frozen_until: Duration::ZERO, offset_ms: 0 });
        Group((self.fates.len() - 1) as u32)
    }

    pub(super) fn alive(&self, group: Group) -> bool {
        self.fates[group.0 as usize].alive
    }

    pub(super) fn kill(&mut self, group: Group) {
        self.fate(group).alive = false;
    }

    pub(super) fn freeze(&mut self, group: Group, until: Duration) {
        self.fate(group).frozen_until = until;
    }

    pub(super) fn frozen_until(&self, group: Group) -> Duration {
        self.fates[group.0 as usize].frozen_until
    }

    pub(super) fn thaw(&mut self) {
        self.fates.iter_mut().for_each(|fate| fate.frozen_until = Duration::ZERO);
    }

    pub(super) fn jump(&mut self, group: Group, by_ms: i64) {
        self.fate(group).offset_ms += by_ms;
        self.furthest_ms = self.furthest_ms.max(self.offset_ms(group));
    }

    pub(super) fn offset_ms(&self, group: Group) -> i64 {
        self.fates[group.0 as usize].offset_ms
    }

    fn fate(&mut self, group: Group) -> &mut Fate {
        &mut self.fates[group.0 as usize]
    }
}
