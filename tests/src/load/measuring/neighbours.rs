//! The share of the machine that other programs use. If it is large, our figures are worth nothing.
//!
//! On a busy processor, a thread that has synced waits for the next scheduler tick, 4 ms, ten times the
//! measured time. That hits a subject with one thread harder than a subject with three, so the ratio is
//! wrong, too.

use std::fs;

use anyhow::{Context, Result};

use super::processor;

/// The start of a measurement.
pub(in crate::load) struct Neighbours(Ticks);

/// The processor time so far, in ticks of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    all: u64,
    idle: u64,
    ours: u64,
}

impl Neighbours {
    pub(in crate::load) fn watch() -> Result<Self> {
        Ticks::now().map(Self)
    }

    /// The share of the machine, from 0 to 1, that other programs have used since the start.
    pub(in crate::load) fn share(&self) -> Result<f64> {
        Ok(Ticks::now()?.share_since(self.0))
    }
}

impl Ticks {
    fn now() -> Result<Self> {
        Self::read(&fs::read_to_string("/proc/stat")?, &fs::read_to_string("/proc/self/stat")?)
    }

    /// Reads `/proc/stat` and `/proc/self/stat`. The first line of the former has user, nice, system, idle,
    /// iowait, irq, softirq and steal.
    fn read(machine: &str, process: &str) -> Result<Self> {
        let machine = machine.lines().next().context("an empty /proc/stat")?;
        let times: Vec<u64> = numbers(machine).take(8).collect();
        let idle = times.get(3..5).context("too few fields in /proc/stat")?;
        Ok(Self { all: times.iter().sum(), idle: idle.iter().sum(), ours: processor::ticks(process)?.iter().sum() })
    }

    fn share_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        let used = all.saturating_sub(self.idle.saturating_sub(before.idle));
        used.saturating_sub(self.ours.saturating_sub(before.ours)) as f64 / all as f64
    }
}

fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split_whitespace().filter_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_ours_is_others() {
        let process = |user: u64| format!("7 (a) b) R 1 2 3 4 5 6 7 8 9 10 {user} 5 0 0\n");
        let before = Ticks::read("cpu  100 0 50 800 50 0 0 0 9 9\ncpu0 1\n", &process(10)).unwrap();
        assert_eq!(before, Ticks { all: 1_000, idle: 850, ours: 15 });
        let after = Ticks::read("cpu  170 0 60 820 50 0 0 0 9 9\n", &process(50)).unwrap();
        assert_eq!(after.share_since(before), 0.4);
    }

    #[test]
    fn the_system_can_be_asked() {
        let share = Neighbours::watch().unwrap().share().unwrap();
        assert!((0.0..=1.0).contains(&share));
    }
}
