//! Parents and children: one single child, and very many children awaited together.
//!
//! A child costs two commits besides its steps: its own start, which is also its end if it has no steps, and
//! the commit in which its parent takes the result. The start of the parent begins the child.

use std::path::Path;

use anyhow::{Result, ensure};
use drystone::Runtime;

use super::{
    CLOSE_MAX,
    app::{App, AppClient as Client},
    keys::Keys,
};
use crate::load::{
    adder::Adder,
    measuring::{
        bare::Direct,
        callers::{Callers, Writer},
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
        wal::Log,
    },
    queues::{ROWS, bare, rows},
};

/// The goal for a single child, from the start of its parent to the parent's result, as a multiple of one
/// bare commit. It needs three commits.
const CHILD_ALONE_MAX: f64 = 5.0;

/// The number of children that are awaited together.
const CHILDREN: u32 = 1_000;

/// The goal: children per second, as a share of the bare writer's calls with 64 callers.
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

/// Parents with a number of children each, as a writer.
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
