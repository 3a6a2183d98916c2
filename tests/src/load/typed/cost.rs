//! The cost of a call without the disk: processor time, and instructions where they can be counted.
//!
//! A ratio measured on a file hides a typed path that becomes slower, because the sync dominates. So a chain
//! of calls runs on the memory store, in a process of its own. The system reports the user time in ticks of
//! 10 ms over thousands of calls. The time varies with the clock and the caches of the machine; instructions
//! hardly vary. Valgrind counts the instructions, which needs neither privileges nor hardware counters
//! (virtual machines have none). The count is the difference of two chains, so the start of the program
//! cancels out.

use std::{
    env,
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};

use super::calls::Whose;
use crate::load::measuring::{
    goal::{Bound, Goal},
    plan::Plan,
    report::{Line, Report},
};

/// The number of chains that are timed.
const CHAINS: u64 = 4;

/// The lengths of the two chains whose difference is counted.
const COUNTED: [u64; 2] = [500, 1_500];

/// The compared calls and their goals: the instructions of the typed call, as a multiple of those of the
/// kernel's own call.
const COSTS: [Cost; 2] = [
    Cost { what: "typed call", typed: Whose::Cell, by_hand: Whose::Adder, goal: "typed_call_instructions", most: 1.4 },
    Cost {
        what: "typed add",
        typed: Whose::Inbox,
        by_hand: Whose::Appender,
        goal: "typed_add_instructions",
        most: 1.7,
    },
];

/// A typed call, and a call written by hand to compare it with.
struct Cost {
    what: &'static str,
    typed: Whose,
    by_hand: Whose,
    goal: &'static str,
    most: f64,
}

pub(super) fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    for cost in COSTS {
        let times = [micros(cost.typed, plan.calls)?, micros(cost.by_hand, plan.calls)?];
        report.line(line(format!("user CPU per {}", cost.what), times, "µs"));
        let Some(typed) = instructions(cost.typed)? else { continue };
        let Some(by_hand) = instructions(cost.by_hand)? else { continue };
        report.line(line(format!("instructions per {}", cost.what), [typed, by_hand], "thousand"));
        let bound = Bound::AtMost(cost.most);
        report.goal(Goal { name: cost.goal, bound, value: typed / by_hand });
    }
    Ok(())
}

fn line(what: String, [typed, by_hand]: [f64; 2], unit: &str) -> Line {
    let note = format!("{typed:.1} {unit} (kernel's own: {by_hand:.1} {unit})");
    Line { what, note, ..Line::default() }
}

/// Microseconds of user time per call. The smallest of a few values, because other programs can only add to
/// it.
fn micros(whose: Whose, count: u64) -> Result<f64> {
    let all: Vec<f64> = (0..CHAINS).map(|_| chain(whose, count / CHAINS)).collect::<Result<_>>()?;
    Ok(all.into_iter().fold(f64::INFINITY, f64::min))
}

fn chain(whose: Whose, count: u64) -> Result<f64> {
    let output = finished(Command::new(env::current_exe()?).args(["calls", whose.word(), &count.to_string()]))?;
    let micros: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(micros / count as f64)
}

/// Thousands of instructions per call; `None` without valgrind.
fn instructions(whose: Whose) -> Result<Option<f64>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let [few, many] = COUNTED;
    let counted = collected(whose, many)?.saturating_sub(collected(whose, few)?);
    Ok(Some(counted as f64 / (many - few) as f64 / 1e3))
}

/// The instructions of a whole process. The output of callgrind ends with `Collected : 123`.
fn collected(whose: Whose, count: u64) -> Result<u64> {
    let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut command = Command::new("valgrind");
    command.args(options).arg(env::current_exe()?).args(["calls", whose.word(), &count.to_string()]);
    let said = String::from_utf8(finished(&mut command)?.stderr)?;
    let number = said.lines().find_map(|line| line.split_once("Collected : ")).context("valgrind counted nothing")?.1;
    Ok(number.trim().parse()?)
}

fn finished(command: &mut Command) -> Result<Output> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output)
}
