//! `cargo load`: the speed of the kernel, as ratios to a bare SQLite writer measured in the same run.
//!
//! Absolute figures of a shared machine say little, so the goals are ratios, counts and bounds. The program
//! prints a table and writes `load.json` into the target directory. In it, `goals` maps the name of each
//! goal to the wanted value, the measured value, and whether the goal is met.

mod adder;
mod alarms;
mod births;
mod compile;
mod kernels;
mod measuring;
mod outbox;
mod peers;
mod permits;
mod queues;
mod sleepers;
mod topics;
mod typed;
mod workflows;
mod writes;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use clap::Parser;

use self::measuring::{
    plan::{CommandLine, Plan, Task},
    report::Report,
};

/// Runs the program.
pub fn main() -> Result<ExitCode> {
    let task = CommandLine::parse().task();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match task {
        Task::Open(path) => runtime.block_on(sleepers::child(&path)).map(|()| ExitCode::SUCCESS),
        Task::Call(calls) => runtime.block_on(typed::child(&calls)).map(|()| ExitCode::SUCCESS),
        Task::Wait(path, count) => runtime.block_on(workflows::child(&path, count)).map(|()| ExitCode::SUCCESS),
        Task::GoOn(path, count) => runtime.block_on(workflows::going_on(&path, count)).map(|()| ExitCode::SUCCESS),
        Task::Measure(plan) => runtime.block_on(measure(&plan)),
    }
}

/// Without `--strict` a missed goal is only reported. With `--strict`, the goals that hold on a busy machine
/// must be met; with `--compile` or `--peers`, all goals must be met.
async fn measure(plan: &Plan) -> Result<ExitCode> {
    let target = target();
    std::fs::create_dir_all(&target)?;
    // Next to the build, because a temporary directory is often in memory, where a sync costs nothing.
    let directory = tempfile::tempdir_in(&target)?;
    let report = match plan {
        Plan { compile: true, .. } => built(&target, directory.path())?,
        Plan { peers: true, .. } => compared(&target, directory.path(), plan).await?,
        _ => parts(plan, directory.path()).await?,
    };
    print!("{}", report.table());
    report.save(&target, plan.quick)?;
    let is_met = if plan.compile || plan.peers { report.all_met() } else { report.holds_on_a_busy_machine() };
    Ok(if plan.strict && !is_met { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn parts(plan: &Plan, directory: &Path) -> Result<Report> {
    let mut report = Report::default();
    if plan.wants("writes") {
        writes::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("typed") {
        typed::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("queues") {
        queues::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("outbox") {
        outbox::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("permits") {
        permits::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("workflows") {
        workflows::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("topics") {
        topics::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("alarms") {
        alarms::measure(plan, directory, &mut report).await?;
    }
    if plan.wants("sleepers") {
        sleepers::measure(plan, directory, &mut report).await?;
    }
    Ok(report)
}

fn built(target: &Path, directory: &Path) -> Result<Report> {
    let mut report = Report::default();
    compile::measure(target, directory, &mut report)?;
    Ok(report)
}

async fn compared(target: &Path, directory: &Path, plan: &Plan) -> Result<Report> {
    let mut report = Report::default();
    peers::measure(target, directory, plan, &mut report).await?;
    Ok(report)
}

fn target() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("target");
    env::var_os("CARGO_TARGET_DIR").map_or(workspace, PathBuf::from)
}
