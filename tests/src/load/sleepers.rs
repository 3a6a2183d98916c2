//! A million sleeping entities: the time and the memory that it takes to open a kernel over them.

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use drystone_runtime::Millis;

use super::{
    births::Births,
    measuring::{
        file,
        goal::{Bound, Goal},
        plan::Plan,
        report::{Line, Report},
    },
};
use crate::bell::{Bell, Past};

/// The goal for the memory of a process that has opened a kernel over the sleepers.
const MEMORY_MAX_MB: f64 = 200.0;
/// The goal for the time to open it.
const OPEN_MAX_S: f64 = 5.0;
/// The number of days in which no alarm falls due.
const FAR_DAYS: u64 = 365;

/// Binds the sleepers, and opens their file in a fresh process.
pub(super) async fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let path = directory.join("sleepers.db");
    let far = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(FAR_DAYS * 86_400);
    let far = far.as_millis() as i64;
    let definition = Bell::definition("load");
    let alarm = |nth: u32| Some(Millis(far + i64::from(nth)));
    let births =
        Births { definition: &definition, count: plan.sleepers, state: Past::default().encode(), alarm: &alarm };
    file::make(&path, &births).await?;
    let cost = Cost::of_opening(&path)?;
    let note = format!("open {:.3} s, resident {:.1} MB", cost.open_s, cost.resident_mb);
    report.line(Line { what: format!("{} sleepers", plan.sleepers), note, ..Line::default() });
    report.goal(Goal { name: "sleepers_memory_mb", bound: Bound::Below(MEMORY_MAX_MB), value: cost.resident_mb });
    report.goal(Goal { name: "sleepers_open_s", bound: Bound::Below(OPEN_MAX_S), value: cost.open_s });
    Ok(())
}

struct Cost {
    open_s: f64,
    resident_mb: f64,
}

impl Cost {
    /// Starts this program again, with [`child`] as its task, and reads its output.
    fn of_opening(path: &Path) -> Result<Self> {
        let output = Command::new(env::current_exe()?).arg("open").arg(path).output()?;
        ensure!(output.status.success(), "opening failed: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout)?;
        let mut numbers = said.split_whitespace().map(str::parse);
        let mut next = || anyhow::Ok(numbers.next().context("the child said too little")??);
        Ok(Self { open_s: next()?, resident_mb: next()? })
    }
}

/// Runs in the fresh process: opens store and kernel, and prints seconds and megabytes.
pub(super) async fn child(path: &Path) -> Result<()> {
    let start = Instant::now();
    let kernel = file::kernel(Arc::new(file::open(path)?), Bell::definition("load")).await?;
    let open_s = start.elapsed().as_secs_f64();
    let at_once = resident_mb()?;
    // The background work of the kernel after the opening counts as well.
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("{open_s} {}", at_once.max(resident_mb()?));
    kernel.shutdown(Duration::from_secs(1)).await?;
    Ok(())
}

pub(super) fn resident_mb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
}
