//! `cargo crash`: a real process on a real SQLite file, killed with SIGKILL at random moments.
//!
//! A parent starts children that count, send, set alarms and work, and kills each at a moment that a seed
//! decides: most when they have acknowledged so many operations, some while they open their files. What a child said over its
//! pipe before it died is a promise; the next child opens the same files and goes on. In the end the parent reads the file itself and holds it against every promise: nothing
//! acknowledged is lost, nothing is there twice, whatever was begun came to its end. One piece of work kills
//! its own process each time it runs: it must be given up, and its neighbours must not (W2). Beside them runs an app of
//! typed primitives, a thousand workflows, and a storm of events that are published, each in a file of its own, of which the same is asked.
//! A campaign whose children had done too little when they were killed proves nothing, and fails.

mod child;
mod counter;
mod doubt;
mod evidence;
mod fate;
mod fleet;
mod heard;
mod life;
mod log;
mod moment;
mod op;
mod parent;
mod pieces;
mod plan;
mod proof;
mod rest;
mod said;
mod storm;
mod typed;
mod verdict;
mod worker;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use self::{
    evidence::Evidence,
    parent::Campaign,
    plan::{CommandLine, Task},
};
pub use self::{plan::Plan, proof::Proof, verdict::Verdict};

/// The space of all keys here.
const SPACE: &str = "crash";
/// The counter that every piece of work adds itself to.
const LEDGER: &str = "ledger";

/// Runs the program: as the parent, or as one of its children.
pub fn main() -> Result<ExitCode> {
    match CommandLine::parse().task(std::env::current_exe()?) {
        Task::Child(errand) => runtime()?.block_on(child::run(errand)).map(|()| ExitCode::SUCCESS),
        Task::Parent(plan) => {
            let verdict = campaign(&plan)?;
            println!("seed {}: {} operations acknowledged, {} aborts", plan.seed, verdict.acknowledged, verdict.aborts);
            println!("{}", verdict.proof);
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
    // Files that were left in the middle may not be read as those that are at rest are: then this is what is known.
    let broken_off = || campaign.failure.clone().unwrap_or_else(|| "what is stored cannot be read".into());
    let evidence = runtime()?.block_on(Evidence::gather(&file)).with_context(broken_off)?;
    let verdict = Verdict::judge(&campaign, &evidence);
    if !verdict.is_clean() {
        // No other run comes to the same: what is to be understood is in there.
        eprintln!("the files are kept in {}", directory.keep().display());
    }
    Ok(verdict)
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
