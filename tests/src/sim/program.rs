//! The program `cargo sim`: what it runs and prints.

pub(crate) mod command_line;
pub mod planted;
pub mod run;

use std::{
    hash::{BuildHasher, RandomState},
    process::ExitCode,
    time::Instant,
};

use clap::Parser;

use self::{
    command_line::CommandLine,
    run::{Again, Tally, tell_all},
};
use super::{
    PROGRAM,
    drawing::{
        drawn::Drawn,
        named::{NAMED, Named},
    },
    running::history::{Told, tell},
};

/// The number of seeds from which on a run must take every rare path.
const LONG_RUN: u64 = 2_000;

/// The upper bound of the first fresh seed: the range is large enough that the seeds have not run before,
/// and short enough to read aloud.
const FRESH_MAX: u64 = 1_000_000_000_000;

/// Runs the program.
pub fn main() -> ExitCode {
    let line = CommandLine::parse();
    let again = if line.twice { Again::All } else { Again::First(200) };
    if let Some(bug) = &line.plant
        && !self::planted::plant(bug)
    {
        return ExitCode::from(2);
    }
    match &line {
        CommandLine { history: Some(name), .. } => run_named(name, line.trace),
        CommandLine { seed: Some(seed), json: true, .. } => show_drawn(*seed),
        CommandLine { seed: Some(seed), .. } => run_one(*seed, line.trace),
        CommandLine { fresh: Some(count), .. } => run_fresh(*count, again),
        CommandLine { seeds: Some(count), .. } => {
            let named = run_all_named();
            exit(run_many(line.from, *count, again, *count >= LONG_RUN) & named)
        }
        _ => self::planted::run(line.cap, line.only.as_deref()),
    }
}

/// Runs this many seeds from a random first one. Rare paths may stay untaken.
fn run_fresh(count: u64, again: Again) -> ExitCode {
    let from = RandomState::new().hash_one(count) % FRESH_MAX;
    println!("fresh seeds; again: {PROGRAM} --seeds {count} --from {from}");
    exit(run_many(from, count, again, false))
}

fn run_one(seed: u64, trace: bool) -> ExitCode {
    let told = tell(seed, true);
    show_one(&format!("seed {seed}"), &told, trace);
    let same = tell(seed, false).hash == told.hash;
    if !same {
        println!("broken (X1): told again, the history differs");
    }
    exit(told.violations.is_empty() && same)
}

fn run_named(name: &str, trace: bool) -> ExitCode {
    let Some(named) = Named::of(name) else {
        eprintln!("no history is named `{name}`; the names are:");
        NAMED.iter().for_each(|named| eprintln!("  {}", named.name));
        return ExitCode::from(2);
    };
    let failed = named.failure().map(|(course, _)| course);
    let told = named.tell(failed.unwrap_or_default(), true);
    show_one(&format!("{name}, course {}", failed.unwrap_or_default()), &told, trace);
    exit(failed.is_none())
}

/// Runs every named history. Returns whether all laws held.
fn run_all_named() -> bool {
    let failures = NAMED.iter().filter_map(|named| Some((named, named.failure()?)));
    let failures = failures.map(|(named, (course, told))| {
        println!("history {}, course {course}: {}", named.name, told.violations[0]);
        println!("again: {PROGRAM} --history {} --trace", named.name);
    });
    let failed = failures.count();
    println!("{} named histories: {failed} failed", NAMED.len());
    failed == 0
}

fn show_drawn(seed: u64) -> ExitCode {
    println!("{}", serde_json::to_string_pretty(&Drawn::of(seed)).expect("numbers and names can be written"));
    ExitCode::SUCCESS
}

fn show_one(what: &str, told: &Told, trace: bool) {
    if trace {
        told.trace.iter().for_each(|line| println!("{line}"));
    }
    println!("{:#?}", told.swarm);
    println!("{what}: {} polls, {:?} of virtual time, hash {:016x}", told.steps, told.lasted, told.hash);
    told.violations.iter().for_each(|violation| println!("{violation}"));
}

/// Runs a range of seeds and prints the results. Returns whether everything is well.
fn run_many(from: u64, count: u64, again: Again, all_paths: bool) -> bool {
    let start = Instant::now();
    let tally = tell_all(from..from.saturating_add(count), again, 20, || {});
    let seconds = start.elapsed().as_secs_f64();
    show_paths(&tally);
    println!(
        "{:.0} histories/s, {} polls each",
        tally.histories as f64 / seconds,
        tally.steps / tally.histories.max(1)
    );
    let untaken = if all_paths && tally.is_clean() { untaken(&tally) } else { Vec::new() };
    untaken.iter().for_each(|path| println!("never: {path}"));
    tally.differing.iter().for_each(|seed| println!("seed {seed}: told again, the history differs"));
    if let Some(failed) = &tally.failed {
        show_failure(failed);
        tally.failures.iter().for_each(|(seed, why)| println!("again: {PROGRAM} --seed {seed} --trace   # {why}"));
    }
    if tally.broken > 0 {
        println!("{} histories broke another law", tally.broken);
    }
    println!("{} histories: {} lost, {} doubled, {} stuck", tally.histories, tally.lost, tally.doubled, tally.stuck);
    tally.is_clean() && untaken.is_empty()
}

fn untaken(tally: &Tally) -> Vec<&'static str> {
    tally.sometimes.iter().filter(|(_, taken)| *taken == 0).map(|(path, _)| path).collect()
}

fn show_paths(tally: &Tally) {
    for (path, taken) in tally.sometimes.iter() {
        println!("{taken:>9} times: {path}");
    }
}

/// Runs the failing history again with its trace, because no trace is kept during the campaign.
fn show_failure(failed: &Told) {
    let told = tell(failed.seed, true);
    told.trace.iter().for_each(|line| println!("{line}"));
    println!("seed {} failed; it drew {:#?}", failed.seed, failed.swarm);
    failed.violations.iter().for_each(|violation| println!("{violation}"));
}

fn exit(clean: bool) -> ExitCode {
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
