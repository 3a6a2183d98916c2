//! Many histories: on all cores, each whole on one thread, so that a seed gives the same history anywhere.

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use super::{
    chronicle::{Class, lock},
    history::{Told, tell},
    sometimes::Sometimes,
};

/// What many histories came to.
#[derive(Default)]
pub struct Tally {
    /// How many were told.
    pub histories: u64,
    /// How many of them lost something.
    pub lost: u64,
    /// How many doubled something.
    pub doubled: u64,
    /// How many did not end.
    pub stuck: u64,
    /// How many broke another law.
    pub broken: u64,
    /// How many were not the same when told again.
    pub differing: Vec<u64>,
    /// The rare paths that they took.
    pub sometimes: Sometimes,
    /// Polls of all.
    pub steps: u64,
    /// The seeds that failed, each with the first law it broke.
    pub failures: Vec<(u64, String)>,
    /// The failing history with the lowest seed.
    pub failed: Option<Box<Told>>,
}

/// Which histories are told again, to see that nothing but the seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// So many, the first.
    First(u64),
    /// Each.
    All,
}

impl Tally {
    /// Whether every law held in every history.
    pub fn is_clean(&self) -> bool {
        self.failed.is_none() && self.differing.is_empty()
    }

    fn add(&mut self, told: Told) {
        self.histories += 1;
        self.steps += told.steps;
        self.sometimes.add(&told.sometimes);
        let Some(first) = told.violations.first() else { return };
        self.failures.push((told.seed, first.to_string()));
        match first.class {
            Class::Lost => self.lost += 1,
            Class::Doubled => self.doubled += 1,
            Class::Stuck => self.stuck += 1,
            Class::Broken => self.broken += 1,
        }
        if self.failed.as_ref().is_none_or(|failed| told.seed < failed.seed) {
            self.failed = Some(Box::new(told));
        }
    }
}

/// Tells the histories of these seeds; ends early after `failures_max` that failed.
pub fn tell_all(seeds: Range<u64>, again: Again, failures_max: u64, prepare: impl Fn() + Sync) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let tally = Mutex::new(Tally::default());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                prepare();
                while let Some(seed) = draw(&next, &seeds, &tally, failures_max) {
                    let told = tell(seed, false);
                    let differs = must_repeat(seed - seeds.start, again) && tell(seed, false).hash != told.hash;
                    let mut tally = lock(&tally);
                    tally.add(told);
                    if differs {
                        tally.differing.push(seed);
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap_or_default()
}

fn draw(next: &AtomicU64, seeds: &Range<u64>, tally: &Mutex<Tally>, failures_max: u64) -> Option<u64> {
    let failures = lock(tally).failures.len() as u64;
    let seed = next.fetch_add(1, Ordering::Relaxed);
    (seed < seeds.end && failures < failures_max).then_some(seed)
}

fn must_repeat(place: u64, again: Again) -> bool {
    match again {
        Again::First(count) => place < count,
        Again::All => true,
    }
}
