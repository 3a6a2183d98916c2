//! Permits: taken and given back by many at once, against the bare writer.
//!
//! With fewer permits than callers each of them stands in line: a commit to join it, one that passes a permit on (many share
//! each), and the release. A rate limit that is never reached is one commit per permit.

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::{Primitives, Runtime, d, primitive};

use super::{
    callers::{Callers, Writer},
    goal::{Bound, Goal},
    measured::Measured,
    plan::Plan,
    queues::{ROWS, bare},
    report::Report,
    rounds::Rounds,
    subject::Subject,
};

const CALLERS: u64 = 64;
/// A permit is waited for, taken and given back so often in a second, as a part of the bare writer's calls.
const CONTENDED_MIN: f64 = 0.05;
/// The same for one that is there, and is given back by time.
const RATE_MIN: f64 = 0.2;
const CLOSE_MAX: Duration = d!("10s");

/// Fewer than those who want one.
#[primitive(semaphore, permits = 10, lease = "30s")]
struct Few;

/// More than anybody can take.
#[primitive(semaphore, permits = 100000000, window = "1s")]
struct Many;

#[derive(Primitives)]
struct App {
    few: Few,
    many: Many,
}

type Client = <App as Primitives>::Client;

/// A permit of a few is waited for, and released.
struct Contended(Client);

impl Writer for Contended {
    async fn write(&self, _: usize) -> Result<()> {
        let permit = self.0.few("few").acquire().await?;
        permit.release().await?;
        Ok(())
    }
}

/// A permit of a rate limit.
struct Limited(Client);

impl Writer for Limited {
    async fn write(&self, _: usize) -> Result<()> {
        let permit = self.0.many("many").acquire().await?;
        drop(permit);
        Ok(())
    }
}

/// Ten permits for 64 callers, and a rate limit.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let bare = bare(directory, "permits-bare.db").await?;
    let path = directory.join("permits.db");
    let runtime = Runtime::sqlite(&path).start::<App>().await?;
    let few = Subject::new(Contended(runtime.client()), &path)?;
    let many = Subject::new(Limited(runtime.client()), &path)?;
    let callers = Callers { callers: CALLERS, rows: u64::from(ROWS), span: plan.span };
    let round = async || Ok([bare.round(callers).await?, few.round(callers).await?, many.round(callers).await?]);
    let rounds = Rounds::measure(plan.rounds, round).await?;
    report.line(rounds.line(0, "64 callers: bare writer".into()));
    report.line(rounds.compared(1, 0, "64 callers, 10 permits: a cycle".into(), Measured::rate));
    report.line(rounds.compared(2, 0, "64 callers, rate limit: a permit".into(), Measured::rate));
    for (subject, name, least) in [(1, "permits_contended", CONTENDED_MIN), (2, "permits_rate", RATE_MIN)] {
        let value = rounds.ratio(subject, 0, Measured::rate);
        report.goal(Goal { name, bound: Bound::AtLeast(least), value });
    }
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}
