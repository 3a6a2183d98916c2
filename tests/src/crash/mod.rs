//! `cargo crash`: a real process on a real SQLite file, killed with SIGKILL at random moments.
//!
//! A parent starts children that count, send, set alarms and work, and kills each at a moment that a seed
//! decides. What a child said over its pipe before it died is a promise; the next child opens the same file
//! and goes on. In the end the parent reads the file itself and holds it against every promise: nothing
//! acknowledged is lost, nothing is there twice, whatever was begun came to its end. One piece of work kills
//! its own process each time it runs: it must be given up, and its neighbours must not (W2). Beside them runs an app of
//! typed primitives, a thousand workflows, and a storm of events that are published, each in a file of its own, of which the same is asked.

mod child;
mod counter;
mod evidence;
mod fate;
mod fleet;
mod heard;
mod log;
mod op;
mod parent;
mod pieces;
mod plan;
mod rest;
mod said;
mod storm;
mod typed;
mod verdict;
mod worker;

use std::process::ExitCode;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

use self::{evidence::Evidence, parent::Campaign, plan::Task};
pub use self::{plan::Plan, verdict::Verdict};

/// The space of all keys here.
const SPACE: &str = "crash";
/// The counter that every piece of work adds itself to.
const LEDGER: &str = "ledger";

/// Runs the program with these arguments: as the parent, or as one of its children.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<ExitCode> {
    match plan::parse(std::env::current_exe()?, arguments)? {
        Task::Child(errand) => runtime()?.block_on(child::run(errand)).map(|()| ExitCode::SUCCESS),
        Task::Parent(plan) => {
            let verdict = campaign(&plan)?;
            println!("seed {}: {} operations acknowledged, {} aborts", plan.seed, verdict.acknowledged, verdict.aborts);
            println!("{verdict}");
            Ok(if verdict.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Kills children as planned and judges what is left.
pub fn campaign(plan: &Plan) -> Result<Verdict> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("crash.db");
    let campaign = Campaign::fight(plan, &file)?;
    let evidence = runtime()?.block_on(Evidence::gather(&file))?;
    Ok(Verdict::judge(&campaign, &evidence))
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
