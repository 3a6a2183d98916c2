//! Alarms that fall due a hundred in every millisecond: all ring, once, and not much too late.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use drystone_runtime::{
    Millis, Store,
    store::{Query, Sqlite},
};
use rusqlite::{Connection, params};
use tokio::time::timeout;

use super::{
    bell::{Bell, Rung},
    births::Births,
    file,
    goal::{Bound, Goal},
    measured::Measured,
    plan::Plan,
    report::{Line, Report},
    tap::Tap,
};

/// The first falls due so long after the kernel is opened.
const LEAD: Duration = Duration::from_secs(2);
/// After so long those that did not ring are counted as lost.
const PATIENCE: Duration = Duration::from_secs(60);
const LATENESS_MAX_S: f64 = 2.0;

/// Binds the bells, sets their alarms, opens the kernel and listens.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let path = directory.join("alarms.db");
    let definition = Bell::definition();
    let births = Births {
        definition: &definition,
        count: plan.alarms,
        state: Rung::default().encode(),
        alarm: &|_| Some(Millis::MAX),
    };
    file::make(&path, &births).await?;
    spread(&path, plan)?;
    let store = Arc::new(Tap::new(file::open(&path)?, plan.alarms as usize));
    let kernel = file::kernel(store.clone(), definition).await?;
    let all = timeout(LEAD + plan.alarms_over + PATIENCE, store.all_rung()).await;
    kernel.shutdown(Duration::from_secs(10)).await?;
    let once = rung_once(&store).await?;
    tell(plan, &Measured::new(store.lateness(), plan.alarms_over), once, all.is_ok(), report);
    Ok(())
}

/// Sets the alarms, evenly, from [`LEAD`] from now. Straight in the file, in one statement: through the store
/// it would take a time that nobody knows before, and the first would be due by then.
fn spread(path: &Path, plan: &Plan) -> Result<()> {
    let first = SystemTime::now().duration_since(UNIX_EPOCH)? + LEAD;
    let sql = "UPDATE entity SET alarm_at = ?1 + (id & 0xffffffff) * ?2 / ?3";
    let (first, over) = (first.as_millis() as i64, plan.alarms_over.as_millis() as i64);
    Connection::open(path)?.execute(sql, params![first, over, plan.alarms])?;
    Ok(())
}

/// How many rang exactly once, by what is stored in the end.
async fn rung_once(store: &Tap<Sqlite>) -> Result<usize> {
    let mut query = Query { limit: 1_000, ..Query::default() };
    let mut once = 0;
    loop {
        let page = store.list(&query).await?;
        let rung = page.entities.iter().filter_map(|entity| Rung::decode(&entity.state));
        once += rung.filter(|rung| rung.times == 1).count();
        query.after = page.next;
        if query.after.is_none() {
            return Ok(once);
        }
    }
}

fn tell(plan: &Plan, lateness: &Measured, once: usize, all: bool, report: &mut Report) {
    let (p50, p99) = (lateness.p50(), lateness.p99());
    let what = format!("{} alarms over {:?}: lateness", plan.alarms, plan.alarms_over);
    let note = if all { "until durable".to_owned() } else { format!("gave up after {PATIENCE:?}") };
    report.line(Line { what, p50: Some(p50), p99: Some(p99), note, ..Line::default() });
    let bound = Bound::AtLeast(f64::from(plan.alarms));
    report.goal(Goal { name: "alarms_fired_once", bound, value: once as f64 });
    // Alarms that never rang have no lateness, and must not make the others' look good.
    let value = if all { p99.as_secs_f64() } else { f64::NAN };
    report.goal(Goal { name: "alarms_p99_lateness_s", bound: Bound::Below(LATENESS_MAX_S), value });
}
