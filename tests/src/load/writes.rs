//! Entity writes: the kernel against the bare writer, in turn, round after round.
//!
//! The disk of a shared machine is twice as slow from one second to the next, so a round measures both within
//! a moment, its ratio is what counts, and the median over the rounds is reported.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;

use super::{
    adder::{Adder, Adders},
    bare::{self, Bare},
    births::Births,
    callers::Callers,
    file,
    goal::{Bound, Goal},
    measured::{Measured, median},
    plan::Plan,
    report::{Line, Report},
};

const KEYS: u32 = 1_000;
const CALLERS: u64 = 64;
/// A caller alone may take so much longer than one bare commit.
const ALONE_MAX: f64 = 1.5;
/// The kernel does at least this part of what the bare writer does.
const WRITES_MIN: f64 = 0.5;

/// Measures all three shapes of load.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let subjects = Subjects::make(directory).await?;
    let many = Callers { callers: CALLERS, rows: u64::from(KEYS), span: plan.span };
    let one = Callers { rows: 1, ..many };
    subjects.warm_up(many).await?;
    subjects.crowd(plan.rounds, many, "64 callers, 1,000 keys", "writes_1000_keys", report).await?;
    subjects.crowd(plan.rounds, one, "64 callers, one key", "writes_one_key", report).await?;
    subjects.alone(plan.rounds, Callers { callers: 1, ..many }, report).await?;
    subjects.kernel.close().await
}

/// Those that are compared, each with a file of its own that was made alike.
struct Subjects {
    bare: Arc<Bare>,
    kernel: Arc<Adders>,
    direct: std::path::PathBuf,
}

impl Subjects {
    async fn make(directory: &Path) -> Result<Self> {
        let definition = Adder::definition();
        let births = Births { definition: &definition, count: KEYS, state: Adder::state(), alarm: &|_| None };
        let [bare, kernel, direct] = ["bare.db", "kernel.db", "direct.db"].map(|name| directory.join(name));
        for path in [&bare, &kernel, &direct] {
            file::make(path, &births).await?;
        }
        let opened = file::kernel(Arc::new(file::open(&kernel)?), Adder::definition()).await?;
        let bare = Bare::start(&bare, Adder::state())?;
        Ok(Self { bare: Arc::new(bare), kernel: Arc::new(Adders::new(opened, KEYS)), direct })
    }

    /// The first touch of each entity reads it; that is not what is measured here.
    async fn warm_up(&self, callers: Callers) -> Result<()> {
        let short = Callers { span: Duration::from_millis(300), ..callers };
        short.drive(&self.bare).await?;
        short.drive(&self.kernel).await?;
        Ok(())
    }

    async fn crowd(
        &self,
        rounds: usize,
        callers: Callers,
        what: &str,
        goal: &'static str,
        report: &mut Report,
    ) -> Result<()> {
        let (mut bare, mut kernel) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare.push(callers.drive(&self.bare).await?);
            kernel.push(callers.drive(&self.kernel).await?);
        }
        let value = ratio(&kernel, &bare, Measured::rate);
        report.line(line(format!("{what}: bare writer"), &bare));
        report.line(Line { ratio: Some(value), ..line(format!("{what}: kernel"), &kernel) });
        report.goal(Goal { name: goal, bound: Bound::AtLeast(WRITES_MIN), value });
        Ok(())
    }

    /// The goal counts against a commit made directly, the stricter of the two limits; both are shown.
    async fn alone(&self, rounds: usize, callers: Callers, report: &mut Report) -> Result<()> {
        let (mut direct, mut bare, mut kernel) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            direct.push(bare::direct(&self.direct, &Adder::state(), callers)?);
            bare.push(callers.drive(&self.bare).await?);
            kernel.push(callers.drive(&self.kernel).await?);
        }
        let p50 = |measured: &Measured| measured.p50().as_secs_f64();
        let (over_direct, over_writer) = (ratio(&kernel, &direct, p50), ratio(&kernel, &bare, p50));
        report.line(line("alone: bare commit, same thread".into(), &direct));
        report.line(line("alone: bare commit, writer thread".into(), &bare));
        let against = |what: &str, ratio: f64| {
            let note = format!("p50 over that of the {what}");
            Line { ratio: Some(ratio), note, ..line("alone: kernel".into(), &kernel) }
        };
        report.line(against("same thread", over_direct));
        report.line(against("writer thread", over_writer));
        report.goal(Goal { name: "alone_p50", bound: Bound::AtMost(ALONE_MAX), value: over_direct });
        Ok(())
    }
}

/// The median, over the rounds, of one to the other.
fn ratio(ours: &[Measured], limit: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    median(ours.iter().zip(limit).map(|(ours, limit)| of(ours) / of(limit)).collect())
}

fn line(what: String, rounds: &[Measured]) -> Line {
    let seconds = |of: fn(&Measured) -> Duration| {
        let middle = median(rounds.iter().map(|round| of(round).as_secs_f64()).collect());
        Duration::try_from_secs_f64(middle).ok()
    };
    Line {
        what,
        per_second: Some(median(rounds.iter().map(Measured::rate).collect())),
        p50: seconds(Measured::p50),
        p99: seconds(Measured::p99),
        ..Line::default()
    }
}
