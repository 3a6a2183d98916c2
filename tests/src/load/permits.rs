//! Permits that many callers take and give back at once, against the bare writer.
//!
//! With fewer permits than callers, each caller waits in line. A permit then costs a commit to join the
//! line, a commit that passes permits on (shared by many), and the release. A rate limit that is never
//! reached costs one commit per permit.

use std::{path::Path, time::Duration};

use anyhow::Result;
use drystone::{Primitives, Runtime, d, primitive};

use super::{
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

/// The number of concurrent callers.
const CALLERS: u64 = 64;
/// The goal: how often a permit is waited for, taken and given back, as a share of the bare writer's calls.
const CONTENDED_MIN: f64 = 0.05;
/// The same for a permit that is free, and comes back when its window has passed.
const RATE_MIN: f64 = 0.2;
/// The time limit for closing the app.
const CLOSE_MAX: Duration = d!("10s");

/// A semaphore with fewer permits than callers.
#[primitive(semaphore, permits = 10, lease = "30s")]
struct Few;

/// A rate limit that is never reached.
#[primitive(semaphore, permits = 100000000, window = "1s")]
struct Many;

#[derive(Primitives)]
struct App {
    few: Few,
    many: Many,
}

type Client = <App as Primitives>::Client;

/// Waits for one of the few permits, and releases it.
struct Contended(Client);

impl Writer for Contended {
    async fn write(&self, _: usize) -> Result<()> {
        let permit = self.0.few("few").acquire().await?;
        permit.release().await?;
        Ok(())
    }
}

/// Takes a permit of the rate limit.
struct Limited(Client);

impl Writer for Limited {
    async fn write(&self, _: usize) -> Result<()> {
        let permit = self.0.many("many").acquire().await?;
        drop(permit);
        Ok(())
    }
}

/// Measures ten permits for 64 callers, and a rate limit.
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
