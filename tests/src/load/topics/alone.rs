//! One event to one waiting run: the time from the publish to the result of the run.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use drystone::Runtime;

use super::{
    CLOSE_MAX,
    app::App,
    audience::{Hall, measured},
};
use crate::load::{
    adder::Adder,
    measuring::{
        bare::Direct,
        callers::Callers,
        goal::{Bound, Goal},
        measured::Measured,
        plan::Plan,
        report::Report,
        rounds::Rounds,
        wal::Log,
    },
    queues::{ROWS, rows},
};

/// The goal, as a multiple of one bare commit. The event costs two commits: one of the topic and one of the
/// run.
const ALONE_MAX: f64 = 5.0;
const TOPIC: u64 = 0;

/// Measures against a commit made directly, without another thread.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let callers = Callers { callers: 1, rows: u64::from(ROWS), span: plan.span };
    let path = rows(directory, "topic-direct.db").await?;
    let (mut direct, log) = (Direct::open(&path, Adder::state())?, Log::of(&path)?);
    let path = directory.join("topic-alone.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let (hall, ours) = (Hall::new(runtime.client()), Log::of(&path)?);
    let round = async || {
        log.empty()?;
        let direct = direct.drive(callers)?;
        ours.empty()?;
        Ok([direct, one_by_one(&hall, plan.span).await?])
    };
    let rounds = Rounds::measure(plan.rounds, round).await?;
    let p50 = |measured: &Measured| measured.p50().as_secs_f64();
    report.line(rounds.line(0, "alone: bare commit, same thread".into()));
    report.line(rounds.compared(1, 0, "alone: published to the run's end".into(), p50));
    let value = rounds.ratio(1, 0, p50);
    report.goal(Goal { name: "topic_alone_p50", bound: Bound::AtMost(ALONE_MAX), value });
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// Publishes events in sequence for `span`, each to a single run. Returns the times until the runs ended.
async fn one_by_one(hall: &Hall, span: Duration) -> Result<Measured> {
    let (start, mut told) = (Instant::now(), Vec::new());
    while start.elapsed() < span {
        told.push(hall.tell(TOPIC, 1).await?);
    }
    let [_, ended] = measured(&told, 1);
    Ok(ended)
}
