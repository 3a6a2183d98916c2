//! Many histories, on all cores. Each history runs on one thread, so that a seed gives the same history
//! anywhere.

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::sim::{
    recording::{
        log::{Class, lock},
        sometimes::Sometimes,
    },
    running::history::{Told, tell},
};

/// The totals of many histories.
#[derive(Default)]
pub struct Tally {
    /// The number of histories.
    pub histories: u64,
    /// The number of histories that lost something.
    pub lost: u64,
    /// The number of histories that doubled something.
    pub doubled: u64,
    /// The number of histories that got stuck.
    pub stuck: u64,
    /// The number of histories with any other violation.
    pub broken: u64,
    /// The seeds whose second run was different.
    pub differing: Vec<u64>,
    /// The rare paths that were taken.
    pub sometimes: Sometimes,
    /// The polls of all histories.
    pub steps: u64,
    /// The seeds that failed, each with its first broken law.
    pub failures: Vec<(u64, String)>,
    /// The failing history with the lowest seed.
    pub failed: Option<Box<Told>>,
}

/// The histories that run twice, to check that nothing but the seed decides their course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The first ones, this many.
    First(u64),
    /// All of them.
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

/// Runs the histories of these seeds. Stops early after `failures_max` failures.
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
