//! Sleeping runs that wake a hundred per millisecond. All must wake once, and not much too late.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Result, ensure};
use drystone::{Runtime, d};
use drystone_runtime::{
    Entity, Millis, Store,
    store::{Query, Sqlite},
};
use tokio::time::timeout;

use super::{
    CLOSE_MAX,
    app::{App, Sleeper},
    crowd, keys,
};
use crate::load::measuring::{
    file,
    goal::{Bound, Goal},
    measured::Measured,
    neighbours::Neighbours,
    plan::Plan,
    report::{Line, Report},
    tap::Tap,
};

/// The time from the planned end of the starts to the first wake-up.
const LEAD: Duration = d!("2s");
/// The time allowed for starting one run.
const START_OF_ONE: Duration = Duration::from_micros(200);
/// The time limit. Runs that have not woken by then count as lost.
const PATIENCE: Duration = d!("60s");
/// The goal for the 99th percentile of the lateness.
const LATENESS_MAX_S: f64 = 2.0;

/// Starts all runs, and waits for them to wake.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let store = Arc::new(Tap::new(file::open(&directory.join("sleeping.db"))?, plan.runs as usize, woken));
    let runtime = Runtime::store(store.clone()).start::<App>().await?;
    let first = now()? + LEAD + START_OF_ONE * plan.runs;
    start(&runtime, plan, first).await?;
    let (spare, neighbours) = (first.saturating_sub(now()?), Neighbours::watch()?);
    ensure!(!spare.is_zero(), "the runs were started too late; is the machine busy?");
    let all = timeout(spare + plan.alarms_over + PATIENCE, store.all_rung()).await.is_ok();
    let (took, others) = (now()?.saturating_sub(first), neighbours.share()?);
    runtime.shutdown(CLOSE_MAX).await?;
    let lateness = Measured::new(store.lateness(), took);
    let woken = Woken { once: once(&store).await?, lateness, took, all, others };
    woken.tell(plan, report);
    Ok(())
}

/// Starts the runs, with evenly spread times.
async fn start(runtime: &Runtime<App>, plan: &Plan, first: Duration) -> Result<()> {
    let (client, count) = (runtime.client(), u64::from(plan.runs));
    let (first, over) = (first.as_millis() as u64, plan.alarms_over.as_millis() as u64);
    let sleep = move |number: u64| {
        let run = client.sleeper(keys::key(number));
        async move { Ok(run.start((first + number * over / count) as i64).await?) }
    };
    crowd::each(count, sleep).await
}

fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

/// The time for which a run slept, if the run was woken and has ended.
fn woken(entity: &Entity) -> Option<Millis> {
    let has_ended = entity.status.word.as_str() == "succeeded";
    has_ended.then(|| serde_json::from_slice(&entity.state).ok().map(|Sleeper { until }| Millis(until))).flatten()
}

/// The number of runs that ended exactly once: the runs stored as ended, minus the difference to the number
/// of committed ends.
async fn once(store: &Tap<Sqlite>) -> Result<usize> {
    let mut query = Query { limit: 1_000, ..Query::default() };
    let mut ended = 0;
    loop {
        let page = store.list(&query).await?;
        ended += page.entities.iter().filter_map(woken).count();
        query.after = page.next;
        if query.after.is_none() {
            return Ok(ended.saturating_sub(store.lateness().len().abs_diff(ended)));
        }
    }
}

/// The results.
struct Woken {
    lateness: Measured,
    once: usize,
    took: Duration,
    all: bool,
    /// The share of the machine that other programs used meanwhile. They can only delay the runs.
    others: f64,
}

impl Woken {
    fn tell(&self, plan: &Plan, report: &mut Report) {
        let (p50, p99) = (self.lateness.p50(), self.lateness.p99());
        let what = format!("{} runs wake over {:?}: lateness", plan.runs, plan.alarms_over);
        let end = if self.all { "until all have ended" } else { "gave up" };
        let (took, others) = (self.took.as_secs_f64(), self.others * 100.0);
        let note = format!("{took:.2} s {end}; others used {others:.0} % of the machine");
        let per_second = Some(self.lateness.rate());
        report.line(Line { what, per_second, p50: Some(p50), p99: Some(p99), note, ..Line::default() });
        let bound = Bound::AtLeast(f64::from(plan.runs));
        report.goal(Goal { name: "runs_woken_once", bound, value: self.once as f64 });
        // Runs that never woke have no lateness. Without this the result would look better than it is.
        let value = if self.all { p99.as_secs_f64() } else { f64::NAN };
        report.goal(Goal { name: "runs_p99_lateness_s", bound: Bound::Below(LATENESS_MAX_S), value });
    }
}
