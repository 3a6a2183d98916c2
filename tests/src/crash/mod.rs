//! `cargo crash`: a real process on real SQLite files, killed with SIGKILL at random moments.
//!
//! A parent starts children that call, send, set alarms, work, run workflows, publish events and write tables of their own, and kills each
//! at a moment that a seed decides: when it has acknowledged so many operations, and some more while they open their files. What a child said over its pipe before
//! it died is a promise; the next child opens the same files and goes on.
//!
//! A campaign is a sequence of rounds. At the end of each, one child brings everything to rest; the parent reads the files itself and holds
//! them against every promise: nothing acknowledged is lost, nothing is there twice, whatever was begun came to its end. Then the clock of
//! the files goes on by 100 days, and the next round, on the same files, retires what the last one left. So a life costs the same however many
//! were before it, and the files stay as small; the campaign measures that and fails if they grow.
//!
//! Four pieces of code kill their own process a few times: neither they nor their neighbours are held, for the process dies without them,
//! too (W2).
//! A campaign whose children had done too little when they were killed, or in which a part of the system was idle, proves nothing, and fails.

mod answered;
mod app;
mod child;
mod counter;
mod doubt;
mod evidence;
mod fate;
mod fleet;
mod footprint;
mod guilt;
mod heard;
mod hooks;
mod life;
mod log;
mod moment;
mod op;
mod outbox;
mod parent;
mod part;
mod permits;
mod pieces;
mod plan;
mod proof;
mod rest;
mod retire;
mod said;
mod storm;
mod typed;
mod verdict;
mod worker;

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use self::{
    evidence::Evidence,
    parent::Campaign,
    plan::{CommandLine, Task},
};
pub use self::{plan::Plan, proof::Proof, verdict::Verdict};

/// The space of all keys of the kernel's own entities.
const SPACE: &str = "crash";

/// Runs the program: as the parent, or as one of its children.
pub fn main() -> Result<ExitCode> {
    match CommandLine::parse().task(std::env::current_exe()?) {
        Task::Child(errand) => runtime()?.block_on(child::run(errand)).map(|()| ExitCode::SUCCESS),
        Task::Parent(plan) => {
            let begun = Instant::now();
            let verdict = campaign(&plan)?;
            let seconds = begun.elapsed().as_secs_f64();
            println!("seed {}: {} operations acknowledged, {} aborts", plan.seed, verdict.acknowledged, verdict.aborts);
            println!("{seconds:.0} s: {:.3} s per kill", seconds / f64::from(verdict.kills.max(1)));
            println!("{}", verdict.proof);
            println!("{}", verdict.growth);
            println!("{verdict}");
            Ok(if verdict.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// Kills children as planned and judges what is left after each round.
pub fn campaign(plan: &Plan) -> Result<Verdict> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("crash.db");
    let (mut campaign, mut verdict) = (Campaign::new(plan, &file), Verdict::default());
    while !campaign.is_over() && verdict.is_clean() {
        campaign.round()?;
        // Files that were left in the middle may not be read as those that are at rest are: then this is what is known.
        let broken_off = || campaign.failure.clone().unwrap_or_else(|| "what is stored cannot be read".into());
        let evidence = runtime()?.block_on(Evidence::gather(&file, &campaign.heard)).with_context(broken_off)?;
        verdict.judge(&campaign, &evidence);
    }
    verdict.close(&campaign);
    if !verdict.is_clean() {
        // No other run comes to the same: what is to be understood is in there.
        eprintln!("the files are kept in {}", directory.keep().display());
    }
    Ok(verdict)
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
