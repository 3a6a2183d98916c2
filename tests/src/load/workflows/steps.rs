//! Runs of ten steps that do nothing, many at once.

use std::path::Path;

use anyhow::Result;
use drystone::Runtime;
use peer_work::STEPS;

use super::{
    CLOSE_MAX,
    app::{App, AppClient as Client},
    keys::Keys,
};
use crate::load::{
    measuring::{
        callers::{Callers, Writer},
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        subject::Subject,
    },
    queues::{ROWS, bare},
};

/// The number of concurrent runs, and the goal: steps per second, as a share of the bare writer's calls with
/// as many callers. A single run of ten steps is eleven commits one after another. The last goal is 60,000
/// steps when the bare writer does 330,000 calls.
const GOALS: [(u64, &str, f64); 3] =
    [(1, "steps_1_at_once", 0.6), (64, "steps_64_at_once", 0.4), (512, "steps_512_at_once", 0.18)];

pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "steps-bare.db").await?;
    for (at_once, name, least) in GOALS {
        let path = directory.join(format!("steps-{at_once}.db"));
        let runtime = Runtime::sqlite(&path).start::<App>().await?;
        let ours = Subject::new(Runs::new(runtime.client()), &path)?;
        let callers = Callers { callers: at_once, rows: u64::from(ROWS), span: plan.span };
        let round = async || Ok([bare.round(callers).await?, ours.round(callers).await?.of_parts(STEPS)]);
        let rounds = Rounds::measure(plan.rounds, round).await?;
        report.line(rounds.line(0, format!("{at_once} at once: bare writer")));
        report.line(rounds.compared(1, 0, format!("{at_once} at once: steps; a run of {STEPS}"), Measured::rate));
        report.goal(Goal { name, bound: Bound::AtLeast(least), value: rounds.ratio(1, 0, Measured::rate) });
        runtime.shutdown(CLOSE_MAX).await?;
    }
    Ok(())
}

/// Runs of ten steps, as a writer. A call is a whole run, from the start to the result.
struct Runs {
    client: Client,
    keys: Keys,
}

impl Runs {
    fn new(client: Client) -> Self {
        Self { client, keys: Keys::default() }
    }
}

impl Writer for Runs {
    async fn write(&self, _: usize) -> Result<()> {
        let run = self.client.nops(self.keys.next());
        run.start(STEPS as u32).await?;
        run.result().await?;
        Ok(())
    }
}
