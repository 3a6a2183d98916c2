//! A run that continues through many generations: the cost of a generation, and the data left behind.
//!
//! A generation of one step is one commit: in the commit that ends the step, the generation ends and the
//! next one begins. Everything that a generation leaves is dropped as a whole, and swept every ten seconds.
//! Until then it takes room in the file, and the room is used again later.

use std::{
    env,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use drystone::{Runtime, d};
use rusqlite::Connection;

use super::{CLOSE_MAX, app::App};
use crate::load::{
    measuring::{
        goal::{Bound, Goal},
        plan::Plan,
        report::{Line, Report},
        wal::connect,
    },
    sleepers::resident_mb,
};

/// How much resident memory may grow from a fifth of the generations to the last one. It is not zero,
/// because memory allocated once is kept.
const MEMORY_GROWTH_MAX_MB: f64 = 4.0;
/// The limit for what all generations have left in the file after the sweep.
const LEFT_MAX_MB: f64 = 0.5;
/// The limit for the file itself: up to ten seconds of unswept data, and free room.
const FILE_MAX_MB: f64 = 8.0;
/// The pause between two looks at the progress.
const LOOK: Duration = d!("2ms");
/// Long enough for a sweep, which runs every ten seconds.
const SWEPT: Duration = d!("12s");

/// Starts this program again, with [`child`] as its task, because the measured process must have done
/// nothing else.
pub(super) fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let mut child = Command::new(env::current_exe()?);
    let output = child.arg("go-on").arg(directory.join("generations.db")).arg(plan.generations.to_string()).output()?;
    ensure!(output.status.success(), "going on failed: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout)?;
    let mut numbers = said.split_whitespace().map(str::parse::<f64>);
    let mut next = || anyhow::Ok(numbers.next().context("the child said too little")??);
    let [rate, early, late, file, left] = [next()?, next()?, next()?, next()?, next()?];
    let note = format!(
        "resident {early:.1} MB at a fifth, {late:.1} at the end; {left:.2} of {file:.2} MB of the file in use"
    );
    let what = format!("{} generations of one run", plan.generations);
    report.line(Line { what, per_second: Some(rate), note, ..Line::default() });
    let goal = |name, limit, value| Goal { name, bound: Bound::Below(limit), value };
    report.goal(goal("generations_memory_growth_mb", MEMORY_GROWTH_MAX_MB, late - early));
    report.goal(goal("generations_left_mb", LEFT_MAX_MB, left));
    report.goal(goal("generations_file_mb", FILE_MAX_MB, file));
    Ok(())
}

/// Runs in the fresh process. Prints generations per second, resident megabytes at a fifth of the
/// generations and at the end, and megabytes of the file and of its used part after the sweep.
pub(in crate::load) async fn child(path: &Path, count: u64) -> Result<()> {
    let runtime = Runtime::sqlite(path).start::<App>().await?;
    let (run, start) = (runtime.client().rounds("on"), Instant::now());
    run.start(count).await?;
    while run.status().await?.is_none_or(|status| u64::from(status.generation) < count / 5) {
        tokio::time::sleep(LOOK).await;
    }
    let early = resident_mb()?;
    ensure!(run.result().await? == 0, "it went through all of them");
    let (rate, late) = (count as f64 / start.elapsed().as_secs_f64(), resident_mb()?);
    tokio::time::sleep(SWEPT).await;
    let pages = Pages::of(&connect(path)?)?;
    println!("{rate} {early} {late} {} {}", pages.in_mb(pages.all), pages.in_mb(pages.all - pages.free));
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}

/// The pages of a file, and the bytes of its log.
struct Pages {
    all: i64,
    free: i64,
    bytes: i64,
}

impl Pages {
    fn of(connection: &Connection) -> Result<Self> {
        let read = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
        Ok(Self { all: read("page_count")?, free: read("freelist_count")?, bytes: read("page_size")? })
    }

    fn in_mb(&self, pages: i64) -> f64 {
        (pages * self.bytes) as f64 / f64::from(1 << 20)
    }
}
