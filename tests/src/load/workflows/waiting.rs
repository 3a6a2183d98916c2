//! Waiting runs: the memory that they take after they have not been used for a while.

use std::{env, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, ensure};
use drystone::{Runtime, d};

use super::{CLOSE_MAX, app::App, crowd, keys};
use crate::load::{
    measuring::{
        goal::{Bound, Goal},
        plan::Plan,
        report::{Line, Report},
    },
    sleepers::resident_mb,
};

/// The goal for the memory of the process once the waiting runs have left memory.
const MEMORY_MAX_MB: f64 = 100.0;
/// Longer than 5 s, after which unused runs leave memory.
const UNUSED: Duration = d!("8s");

/// Starts this program again, with [`child`] as its task, because the measured process must have done
/// nothing else.
pub(super) fn measure(plan: &Plan, directory: &Path, report: &mut Report) -> Result<()> {
    let mut child = Command::new(env::current_exe()?);
    let output = child.arg("wait").arg(directory.join("waiting.db")).arg(plan.runs.to_string()).output()?;
    ensure!(output.status.success(), "waiting failed: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout)?;
    let mut numbers = said.split_whitespace().map(str::parse::<f64>);
    let mut next = || anyhow::Ok(numbers.next().context("the child said too little")??);
    let [before, started, after] = [next()?, next()?, next()?];
    let note = format!("resident {before:.1} MB before, {started:.1} when started, {after:.1} MB {UNUSED:?} later");
    report.line(Line { what: format!("{} waiting runs", plan.runs), note, ..Line::default() });
    report.goal(Goal { name: "waiting_memory_mb", bound: Bound::Below(MEMORY_MAX_MB), value: after });
    Ok(())
}

/// Runs in the fresh process. Starts `count` runs, and prints megabytes before, after the start, and later.
pub(in crate::load) async fn child(path: &Path, count: u64) -> Result<()> {
    let runtime = Runtime::sqlite(path).start::<App>().await?;
    let before = resident_mb()?;
    let client = runtime.client();
    let wait = move |number: u64| {
        let run = client.waiter(keys::key(number));
        async move { Ok(run.start(0).await?) }
    };
    crowd::each(count, wait).await?;
    let started = resident_mb()?;
    tokio::time::sleep(UNUSED).await;
    println!("{before} {started} {}", resident_mb()?);
    Ok(runtime.shutdown(CLOSE_MAX).await?)
}
