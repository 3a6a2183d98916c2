//! Runs of ten transactional steps, many at once. Each step writes a row of the author's.

use std::path::Path;

use anyhow::Result;
use drystone::{Flow, Primitives, Runtime, SqlError, Transaction, workflow};
use peer_work::STEPS;
use serde::{Deserialize, Serialize};

use super::{CLOSE_MAX, keys::Keys};
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

/// The goal: steps per second, as a share of the bare writer's calls. A step is a transaction and a commit,
/// and each writes three rows.
const STEPS_MIN: f64 = 0.1;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, number INTEGER NOT NULL)";

/// A sequence of transactional steps, each of which books a number.
#[derive(Default, Serialize, Deserialize)]
struct Books;

#[workflow]
impl Books {
    async fn run(flow: &Flow<Self>, steps: u32) -> Result<(), SqlError> {
        for number in 0..steps {
            flow.book(number).await?;
        }
        Ok(())
    }

    #[step(transaction)]
    fn book(number: u32, sql: &mut Transaction<'_>) -> Result<usize, SqlError> {
        sql.execute("INSERT INTO ledger (number) VALUES (?1)", (number,))
    }
}

#[derive(Primitives)]
struct App {
    books: Books,
}

/// Measures 64 concurrent runs.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "transactions-bare.db").await?;
    let path = directory.join("transactions.db");
    let runtime = Runtime::sqlite(&path).schema(TABLES).start::<App>().await?;
    let ours = Subject::new(Runs { client: runtime.client(), keys: Keys::default() }, &path)?;
    let callers = Callers { callers: 64, rows: u64::from(ROWS), span: plan.span };
    let round = async || Ok([bare.round(callers).await?, ours.round(callers).await?.of_parts(STEPS)]);
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, "64 at once: bare writer".to_owned()));
    let line = format!("64 at once: transactional steps; a run of {STEPS}");
    report.line(rounds.compared(1, 0, line, Measured::rate));
    let value = rounds.ratio(1, 0, Measured::rate);
    report.goal(Goal { name: "transactional_steps_64_at_once", bound: Bound::AtLeast(STEPS_MIN), value });
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// A call is a run, from its start to its result.
struct Runs {
    client: AppClient,
    keys: Keys,
}

impl Writer for Runs {
    async fn write(&self, _: usize) -> Result<()> {
        let run = self.client.books(self.keys.next());
        run.start(STEPS as u32).await?;
        run.result().await?;
        Ok(())
    }
}
