//! `cargo sim`: what is asked of it, and what it prints.

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result, bail};

use super::{
    history::{Told, tell},
    run::{Again, Tally, tell_all},
};

const USAGE: &str =
    "usage: cargo sim -- --seeds N [--from S] [--twice] | --seed S [--trace] | --planted [--cap N] [--only BUG]";

/// In a run this long, every rare path must have been taken.
const LONG_RUN: u64 = 2_000;

#[derive(Debug, Default)]
struct Asked {
    seeds: Option<u64>,
    from: u64,
    seed: Option<u64>,
    trace: bool,
    twice: bool,
    planted: bool,
    cap: Option<u64>,
    only: Option<String>,
}

/// Runs the program.
pub fn main() -> ExitCode {
    match parse(std::env::args().skip(1)) {
        Ok(asked) => run(&asked),
        Err(error) => {
            eprintln!("{error:#}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Asked> {
    let mut asked = Asked::default();
    while let Some(argument) = arguments.next() {
        if argument == "--only" {
            asked.only = Some(arguments.next().context("`--only` wants the name of a bug")?);
            continue;
        }
        let mut number = || -> Result<u64> {
            let value = arguments.next().with_context(|| format!("`{argument}` wants a number"))?;
            value.parse().with_context(|| format!("`{value}` is not a number"))
        };
        match argument.as_str() {
            "--seeds" => asked.seeds = Some(number()?),
            "--from" => asked.from = number()?,
            "--seed" => asked.seed = Some(number()?),
            "--cap" => asked.cap = Some(number()?),
            "--trace" => asked.trace = true,
            "--twice" => asked.twice = true,
            "--planted" => asked.planted = true,
            other => bail!("`{other}` is not known"),
        }
    }
    if asked.seeds.is_none() && asked.seed.is_none() && !asked.planted {
        bail!("nothing is asked for");
    }
    Ok(asked)
}

fn run(asked: &Asked) -> ExitCode {
    match asked.seed {
        Some(seed) => run_one(seed, asked.trace),
        None if asked.planted => super::planted::run(asked.cap.unwrap_or(5_000), asked.only.as_deref()),
        None => run_many(asked),
    }
}

fn run_one(seed: u64, trace: bool) -> ExitCode {
    let told = tell(seed, true);
    if trace {
        told.trace.iter().for_each(|line| println!("{line}"));
    }
    println!("{:#?}", told.swarm);
    println!("seed {seed}: {} polls, {:?} of virtual time, hash {:016x}", told.steps, told.lasted, told.hash);
    told.violations.iter().for_each(|violation| println!("{violation}"));
    let same = tell(seed, false).hash == told.hash;
    if !same {
        println!("broken (X1): told again, the history differs");
    }
    exit(told.violations.is_empty() && same)
}

fn run_many(asked: &Asked) -> ExitCode {
    let count = asked.seeds.unwrap_or_default();
    let again = if asked.twice { Again::All } else { Again::First(200) };
    let start = Instant::now();
    let tally = tell_all(asked.from..asked.from + count, again, 20, || {});
    let seconds = start.elapsed().as_secs_f64();
    show_paths(&tally);
    println!(
        "{:.0} histories/s, {} polls each",
        tally.histories as f64 / seconds,
        tally.steps / tally.histories.max(1)
    );
    let untaken = untaken(&tally, count);
    untaken.iter().for_each(|path| println!("never: {path}"));
    tally.differing.iter().for_each(|seed| println!("seed {seed}: told again, the history differs"));
    if let Some(failed) = &tally.failed {
        show_failure(failed);
        tally.failures.iter().for_each(|(seed, why)| println!("seed {seed}: {why}"));
    }
    if tally.broken > 0 {
        println!("{} histories broke another law", tally.broken);
    }
    println!("{} histories: {} lost, {} doubled, {} stuck", tally.histories, tally.lost, tally.doubled, tally.stuck);
    exit(tally.is_clean() && untaken.is_empty())
}

fn untaken(tally: &Tally, count: u64) -> Vec<&'static str> {
    if count < LONG_RUN || !tally.is_clean() {
        return Vec::new();
    }
    tally.sometimes.iter().filter(|(_, taken)| *taken == 0).map(|(path, _)| path).collect()
}

fn show_paths(tally: &Tally) {
    for (path, taken) in tally.sometimes.iter() {
        println!("{taken:>9} times: {path}");
    }
}

/// Tells the failing history again with its trace: a trace is not kept for those that are well.
fn show_failure(failed: &Told) {
    let told = tell(failed.seed, true);
    told.trace.iter().for_each(|line| println!("{line}"));
    println!("seed {} failed; it drew {:#?}", failed.seed, failed.swarm);
    failed.violations.iter().for_each(|violation| println!("{violation}"));
    println!("again: cargo sim -- --seed {} --trace", failed.seed);
}

fn exit(clean: bool) -> ExitCode {
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
