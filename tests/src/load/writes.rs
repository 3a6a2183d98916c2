//! Entity writes: the kernel against the bare writer, in turn, round after round.
//!
//! The disk of a shared machine can be twice as slow from one second to the next. So a round measures all
//! subjects shortly after one another, from the same state of their logs. Only the rounds that other
//! programs did not disturb count, and the median of their ratios is reported.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;

use super::{
    adder::Adder,
    births::Births,
    kernels::Kernels,
    measuring::{
        bare::{Bare, Direct},
        callers::Callers,
        file,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
        wal::Log,
    },
};

const KEYS: u32 = 1_000;
const CALLERS: u64 = 64;
const WARM_UP: Duration = Duration::from_millis(300);
/// The goal for a single caller: the time of a call, as a multiple of a bare commit.
const ALONE_MAX: f64 = 1.5;
/// The goal: the kernel's calls, as a share of the bare writer's calls.
const WRITES_MIN: f64 = 0.5;

/// Measures all three shapes of load.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let mut subjects = Subjects::make(directory).await?;
    let many = Callers { callers: CALLERS, rows: u64::from(KEYS), span: plan.span };
    let one = Callers { rows: 1, ..many };
    subjects.warm_up(many).await?;
    subjects.crowd(plan.rounds, many, "64 callers, 1,000 keys", "writes_1000_keys", report).await?;
    subjects.crowd(plan.rounds, one, "64 callers, one key", "writes_one_key", report).await?;
    subjects.alone(plan.rounds, Callers { callers: 1, ..many }, report).await?;
    subjects.kernel.writer.close().await
}

/// The compared subjects. Each has its own file, and all files were made alike.
struct Subjects {
    bare: Subject<Bare>,
    kernel: Subject<Kernels>,
    direct: (Direct, Log),
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
        Ok(Self {
            bare: Subject::new(Bare::start(&bare, Adder::state())?, &bare)?,
            kernel: Subject::new(Kernels::adders(opened, KEYS), &kernel)?,
            direct: (Direct::open(&direct, Adder::state())?, Log::of(&direct)?),
        })
    }

    /// Warms up, because the first access to each entity reads it, which is not measured here.
    async fn warm_up(&self, callers: Callers) -> Result<()> {
        let short = Callers { span: WARM_UP, ..callers };
        self.bare.round(short).await?;
        self.kernel.round(short).await.map(drop)
    }

    async fn crowd(
        &self,
        rounds: usize,
        callers: Callers,
        what: &str,
        goal: &'static str,
        report: &mut Report,
    ) -> Result<()> {
        let round = async || Ok([self.bare.round(callers).await?, self.kernel.round(callers).await?]);
        let rounds = Rounds::measure(rounds, round).await?;
        let value = rounds.ratio(1, 0, Measured::rate);
        report.line(rounds.line(0, format!("{what}: bare writer")));
        report.line(rounds.compared(1, 0, format!("{what}: kernel"), Measured::rate));
        report.goal(Goal { name: goal, bound: Bound::AtLeast(WRITES_MIN), value });
        Ok(())
    }

    /// Measures a single caller. The limit is the bare writer with one caller: both calls go to another
    /// thread and back. A commit made directly, without another thread, is shown for comparison.
    async fn alone(&mut self, rounds: usize, callers: Callers, report: &mut Report) -> Result<()> {
        let round = async || {
            self.direct.1.empty()?;
            let direct = self.direct.0.drive(callers)?;
            Ok([direct, self.bare.round(callers).await?, self.kernel.round(callers).await?])
        };
        let rounds = Rounds::measure(rounds, round).await?;
        let p50 = |measured: &Measured| measured.p50().as_secs_f64();
        report.line(rounds.line(0, "alone: bare commit, same thread".into()));
        report.line(rounds.line(1, "alone: bare commit, writer thread".into()));
        report.line(rounds.compared(2, 0, "alone: kernel, p50 to same thread's".into(), p50));
        report.line(rounds.compared(2, 1, "alone: kernel, p50 to writer thread's".into(), p50));
        let value = rounds.ratio(2, 1, p50);
        report.goal(Goal { name: "alone_p50", bound: Bound::AtMost(ALONE_MAX), value });
        Ok(())
    }
}
