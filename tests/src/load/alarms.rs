//! Alarms that fall due a hundred per millisecond. All must ring once, and not much too late.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};
use drystone_runtime::{
    Entity, Millis, Store,
    store::{Query, Sqlite},
};
use rusqlite::{Connection, params};
use tokio::time::{sleep, timeout};

use super::{
    births::Births,
    measuring::{
        file,
        goal::{Bound, Goal},
        measured::Measured,
        neighbours::Neighbours,
        plan::Plan,
        report::{Line, Report},
        tap::Tap,
    },
};
use crate::bell::{Bell, Past};

/// The time from the opening of the kernel to the first alarm.
const LEAD: Duration = Duration::from_secs(2);
/// The time allowed for setting one alarm in the file.
const SETTING_OF_ONE: Duration = Duration::from_micros(60);
/// The time limit. Alarms that have not rung by then count as lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// The goal for the 99th percentile of the lateness.
const LATENESS_MAX_S: f64 = 2.0;

/// Binds the bells, sets their alarms, opens the kernel and waits for the alarms.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let path = directory.join("alarms.db");
    let definition = Bell::definition("load");
    let (state, alarm) = (Past::default().encode(), |_| Some(Millis::MAX));
    file::make(&path, &Births { definition: &definition, count: plan.alarms, state, alarm: &alarm }).await?;
    let first = spread(&path, plan)?;
    let store = Arc::new(Tap::new(file::open(&path)?, plan.alarms as usize, rung));
    sleep(until(first)?.checked_sub(LEAD).context("the alarms were set too late; is the machine busy?")?).await;
    let neighbours = Neighbours::watch()?;
    let kernel = file::kernel(store.clone(), definition).await?;
    let all = timeout(LEAD + plan.alarms_over + PATIENCE, store.all_rung()).await.is_ok();
    let others = neighbours.share()?;
    kernel.shutdown(Duration::from_secs(10)).await?;
    let lateness = Measured::new(store.lateness(), plan.alarms_over);
    tell(plan, &Rang { lateness, once: rung_once(&store).await?, all, others }, report);
    Ok(())
}

/// Sets the alarms, evenly spread, and returns when the first is due (since 1970). It writes directly to the
/// file in one statement, and far enough ahead: the time of this statement must not count as lateness.
fn spread(path: &Path, plan: &Plan) -> Result<Duration> {
    let first = SystemTime::now().duration_since(UNIX_EPOCH)? + LEAD + SETTING_OF_ONE * plan.alarms;
    let sql = "UPDATE drystone_entity SET alarm_at = ?1 + (id & 0xffffffff) * ?2 / ?3";
    let (due, over) = (first.as_millis() as i64, plan.alarms_over.as_millis() as i64);
    Connection::open(path)?.execute(sql, params![due, over, plan.alarms])?;
    Ok(first)
}

fn until(moment: Duration) -> Result<Duration> {
    Ok(moment.saturating_sub(SystemTime::now().duration_since(UNIX_EPOCH)?))
}

/// The time for which the alarm of a bell was set, if the bell has rung.
fn rung(entity: &Entity) -> Option<Millis> {
    Past::decode(&entity.state).filter(|past| past.rung > 0).map(|past| Millis(past.due))
}

/// The number of bells that rang exactly once, according to the store at the end.
async fn rung_once(store: &Tap<Sqlite>) -> Result<usize> {
    let mut query = Query { limit: 1_000, ..Query::default() };
    let mut once = 0;
    loop {
        let page = store.list(&query).await?;
        let rung = page.entities.iter().filter_map(|entity| Past::decode(&entity.state));
        once += rung.filter(|past| past.rung == 1).count();
        query.after = page.next;
        if query.after.is_none() {
            return Ok(once);
        }
    }
}

/// The results.
struct Rang {
    lateness: Measured,
    once: usize,
    all: bool,
    /// The share of the machine that other programs used meanwhile. They can only delay the alarms.
    others: f64,
}

fn tell(plan: &Plan, rang: &Rang, report: &mut Report) {
    let (p50, p99) = (rang.lateness.p50(), rang.lateness.p99());
    let what = format!("{} alarms over {:?}: lateness", plan.alarms, plan.alarms_over);
    let end = if rang.all { "until durable".to_owned() } else { format!("gave up after {PATIENCE:?}") };
    let note = format!("{end}; others used {:.0} % of the machine", rang.others * 100.0);
    report.line(Line { what, p50: Some(p50), p99: Some(p99), note, ..Line::default() });
    let bound = Bound::AtLeast(f64::from(plan.alarms));
    report.goal(Goal { name: "alarms_fired_once", bound, value: rang.once as f64 });
    // Alarms that never rang have no lateness. Without this the result would look better than it is.
    let value = if rang.all { p99.as_secs_f64() } else { f64::NAN };
    report.goal(Goal { name: "alarms_p99_lateness_s", bound: Bound::Below(LATENESS_MAX_S), value });
}
