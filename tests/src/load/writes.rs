//! Entity writes: the kernel against the bare writer, in turn, round after round.
//!
//! The disk of a shared machine is twice as slow from one second to the next, so a round measures both within a
//! moment and from the same state of their logs; its ratio is what counts, and the median over the rounds is
//! reported. No kernel can beat the commit that it contains: a caller alone well below 1 means that the machine
//! was too busy for the figure to be worth anything.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Result;

use super::{
    adder::{Adder, Adders},
    bare::{Bare, Direct},
    births::Births,
    callers::{Callers, Writer},
    file,
    goal::{Bound, Goal},
    measured::{Measured, median},
    plan::Plan,
    report::{Line, Report},
    wal::Log,
};

const KEYS: u32 = 1_000;
const CALLERS: u64 = 64;
const WARM_UP: Duration = Duration::from_millis(300);
/// A caller alone may take so much longer than one bare commit.
const ALONE_MAX: f64 = 1.5;
/// The kernel does at least this part of what the bare writer does.
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

/// Those that are compared, each with a file of its own that was made alike.
struct Subjects {
    bare: Subject<Bare>,
    kernel: Subject<Adders>,
    direct: (Direct, Log),
}

struct Subject<W> {
    writer: Arc<W>,
    log: Log,
}

impl<W: Writer> Subject<W> {
    fn new(writer: W, path: &Path) -> Result<Self> {
        Ok(Self { writer: Arc::new(writer), log: Log::of(path)? })
    }

    async fn round(&self, callers: Callers) -> Result<Measured> {
        self.log.empty()?;
        callers.drive(&self.writer).await
    }
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
            kernel: Subject::new(Adders::new(opened, KEYS), &kernel)?,
            direct: (Direct::open(&direct, Adder::state())?, Log::of(&direct)?),
        })
    }

    /// The first touch of each entity reads it; that is not what is measured here.
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
        let (mut bare, mut kernel) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            bare.push(self.bare.round(callers).await?);
            kernel.push(self.kernel.round(callers).await?);
        }
        let ratios = Ratios::of(&kernel, &bare, Measured::rate);
        report.line(line(format!("{what}: bare writer"), &bare));
        report.line(Line { note: ratios.range(), ..ratios.line(format!("{what}: kernel"), &kernel) });
        report.goal(Goal { name: goal, bound: Bound::AtLeast(WRITES_MIN), value: ratios.median() });
        Ok(())
    }

    /// The goal counts against a commit made directly, the stricter of the two limits; both are shown.
    async fn alone(&mut self, rounds: usize, callers: Callers, report: &mut Report) -> Result<()> {
        let (mut direct, mut bare, mut kernel) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            self.direct.1.empty()?;
            direct.push(self.direct.0.drive(callers)?);
            bare.push(self.bare.round(callers).await?);
            kernel.push(self.kernel.round(callers).await?);
        }
        report.line(line("alone: bare commit, same thread".into(), &direct));
        report.line(line("alone: bare commit, writer thread".into(), &bare));
        let p50 = |measured: &Measured| measured.p50().as_secs_f64();
        for (limit, rounds) in [("same", &direct), ("writer", &bare)] {
            let ratios = Ratios::of(&kernel, rounds, p50);
            let note = format!("p50, over the {limit} thread's; {}", ratios.range());
            report.line(Line { note, ..ratios.line("alone: kernel".into(), &kernel) });
        }
        let value = Ratios::of(&kernel, &direct, p50).median();
        report.goal(Goal { name: "alone_p50", bound: Bound::AtMost(ALONE_MAX), value });
        Ok(())
    }
}

/// One ratio of each round.
struct Ratios(Vec<f64>);

impl Ratios {
    fn of(ours: &[Measured], limit: &[Measured], what: impl Fn(&Measured) -> f64) -> Self {
        Self(ours.iter().zip(limit).map(|(ours, limit)| what(ours) / what(limit)).collect())
    }

    fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// How far the rounds are apart: what one of them alone is worth.
    fn range(&self) -> String {
        let (least, most) = (self.0.iter().copied().reduce(f64::min), self.0.iter().copied().reduce(f64::max));
        format!("{} rounds, {:.2} to {:.2}", self.0.len(), least.unwrap_or(f64::NAN), most.unwrap_or(f64::NAN))
    }

    fn line(&self, what: String, rounds: &[Measured]) -> Line {
        Line { ratio: Some(self.median()), ..line(what, rounds) }
    }
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
