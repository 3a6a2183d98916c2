//! Runs that begin others: one child alone, and very many that are waited for together.
//!
//! A child costs two commits beside its steps: its own start, which is its end if it has no steps, and that in which its parent takes it.
//! The start of the parent begins it.

use std::path::Path;

use anyhow::{Result, ensure};
use drystone::Runtime;

use super::{
    super::{
        adder::Adder,
        bare::Direct,
        callers::{Callers, Writer},
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        queues::{ROWS, bare, rows},
        report::Report,
        rounds::Rounds,
        subject::Subject,
        wal::Log,
    },
    CLOSE_MAX,
    app::{App, AppClient as Client},
    keys::Keys,
};

/// A child alone, from its parent's start to its parent's result, may take so many times as long as one bare commit: it is three of them.
const CHILD_ALONE_MAX: f64 = 5.0;

/// How many children are waited for together.
const CHILDREN: u32 = 1_000;

/// Children per second, as a part of the bare writer's calls with 64 callers.
const CHILDREN_MIN: f64 = 0.1;

pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    alone(plan, directory, report).await?;
    together(plan, directory, report).await
}

async fn alone(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let callers = Callers { callers: 1, rows: u64::from(ROWS), span: plan.span };
    let path = rows(directory, "child-direct.db").await?;
    let (mut direct, log) = (Direct::open(&path, Adder::state())?, Log::of(&path)?);
    let path = directory.join("child.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let ours = Subject::new(Families::of(runtime.client(), 1), &path)?;
    let round = async || {
        log.empty()?;
        Ok([direct.drive(callers)?, ours.round(callers).await?])
    };
    let rounds = Rounds::measure(plan.rounds, round).await?;
    let p50 = |measured: &Measured| measured.p50().as_secs_f64();
    report.line(rounds.compared(1, 0, "alone: a run with one child".into(), p50));
    let value = rounds.ratio(1, 0, p50);
    report.goal(Goal { name: "child_alone_p50", bound: Bound::AtMost(CHILD_ALONE_MAX), value });
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

async fn together(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "children-bare.db").await?;
    let path = directory.join("children.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let ours = Subject::new(Families::of(runtime.client(), CHILDREN), &path)?;
    let many = Callers { callers: 64, rows: u64::from(ROWS), span: plan.span };
    let one = Callers { callers: 1, rows: 1, span: plan.span };
    let round = async || Ok([bare.round(many).await?, ours.round(one).await?.of_parts(u64::from(CHILDREN))]);
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.compared(1, 0, format!("{CHILDREN} children of one run; a family"), Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "children_1000_joined", bound: Bound::AtLeast(CHILDREN_MIN), value });
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// Parents with so many children each, as something that is called.
struct Families {
    client: Client,
    children: u32,
    keys: Keys,
}

impl Families {
    fn of(client: Client, children: u32) -> Self {
        Self { client, children, keys: Keys::default() }
    }
}

impl Writer for Families {
    async fn write(&self, _: usize) -> Result<()> {
        let ended = self.client.parent(self.keys.next()).execute(self.children).await?;
        ensure!(ended == self.children, "{ended} children have ended");
        Ok(())
    }
}
