//! `cargo crash`: a real process on real SQLite files, killed with SIGKILL at random moments.
//!
//! A parent process starts children, one at a time. A child calls entities, sends messages, sets alarms,
//! does work, runs workflows, publishes events and writes tables of its own. The parent kills each child at
//! a moment that the seed decides: most when they have acknowledged a number of operations, some while they
//! open their files. Everything that a child wrote to its pipe before it died is a promise. The next child
//! opens the same files and resumes.
//!
//! A campaign is a sequence of rounds. At the end of a round, one child brings everything to rest. Then the
//! parent reads the files and checks every promise: nothing acknowledged is lost, nothing is there twice,
//! and everything that was begun has ended. After that the clock of the files moves ahead by 100 days. The
//! next round works on the same files, and retires what the round before has left. So each life costs the
//! same, and the files stay small. The campaign measures this and fails if they grow.
//!
//! Four pieces of code kill their own process a few times. Neither they nor their neighbours are held,
//! because the process also dies without them (W2).
//!
//! A campaign proves nothing, and fails, if its children had done too little when they were killed, or if a
//! part of the system was idle.

mod judging;
mod log;
mod op;
mod parts;
mod plan;
mod processes;

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use self::{
    judging::evidence::Evidence,
    plan::{CommandLine, Task},
    processes::parent::Campaign,
};
pub use self::{
    judging::{proof::Proof, verdict::Verdict},
    plan::Plan,
};

/// The space of all entities that are written directly on the kernel.
const SPACE: &str = "crash";

/// Runs the program, as the parent or as one of its children.
pub fn main() -> Result<ExitCode> {
    match CommandLine::parse().task(std::env::current_exe()?) {
        Task::Child(errand) => runtime()?.block_on(processes::child::run(errand)).map(|()| ExitCode::SUCCESS),
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

/// Runs a campaign: kills children as planned, and judges the files after each round.
pub fn campaign(plan: &Plan) -> Result<Verdict> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("crash.db");
    let (mut campaign, mut verdict) = (Campaign::new(plan, &file), Verdict::default());
    while !campaign.is_over() && verdict.is_clean() {
        campaign.round()?;
        // A round that was broken off may leave files that cannot be read. In this case report the reason
        // for breaking off.
        let broken_off = || campaign.failure.clone().unwrap_or_else(|| "what is stored cannot be read".into());
        let evidence = runtime()?.block_on(Evidence::gather(&file, &campaign.heard)).with_context(broken_off)?;
        verdict.judge(&campaign, &evidence);
    }
    verdict.close(&campaign);
    if !verdict.is_clean() {
        // Another run would end differently, so keep the files to find the cause.
        eprintln!("the files are kept in {}", directory.keep().display());
    }
    Ok(verdict)
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}
