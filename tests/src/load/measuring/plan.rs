//! The command line: the parts to measure, and the size of the load.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, builder::PossibleValuesParser};

use crate::load::typed::{Calls, Whose};

/// The values of `--only`.
const PARTS: [&str; 9] =
    ["writes", "typed", "queues", "outbox", "permits", "workflows", "topics", "alarms", "sleepers"];

/// Measures how fast Drystone is, mostly as ratios to a bare SQLite writer in the same run.
///
/// Prints a table, and writes `load.json` into the target directory, where `goals` lists each goal with the
/// bound and the value. A full run takes many minutes on an idle machine.
#[derive(Debug, Parser)]
#[command(name = "load", bin_name = "cargo load --", disable_help_subcommand = true)]
pub(in crate::load) struct CommandLine {
    /// Use smaller numbers: about two minutes in all.
    #[arg(long)]
    quick: bool,
    /// Exit with code 1 if a goal is missed that holds even on a busy machine. The default only reports
    /// missed goals.
    #[arg(long)]
    strict: bool,
    /// Measure only one part.
    #[arg(long, value_name = "PART", value_parser = PossibleValuesParser::new(PARTS))]
    only: Option<String>,
    /// Measure only what the macros cost a build.
    #[arg(long, conflicts_with = "peers")]
    compile: bool,
    /// Measure only our queues and workflows against those of other crates. Builds them: minutes the first
    /// time.
    #[arg(long)]
    peers: bool,
    #[command(subcommand)]
    child: Option<Child>,
}

/// The measurements that need a fresh process. The program starts these processes itself.
#[derive(Debug, Subcommand)]
enum Child {
    #[command(hide = true)]
    Open { file: PathBuf },
    #[command(hide = true)]
    Calls { whose: Whose, count: u64 },
    #[command(hide = true)]
    Wait { file: PathBuf, count: u64 },
    #[command(hide = true)]
    GoOn { file: PathBuf, count: u64 },
}

impl CommandLine {
    /// The task of this process.
    pub(in crate::load) fn task(self) -> Task {
        match self.child {
            None => Task::Measure(self.plan()),
            Some(Child::Open { file }) => Task::Open(file),
            Some(Child::Calls { whose, count }) => Task::Call(Calls { whose, count }),
            Some(Child::Wait { file, count }) => Task::Wait(file, count),
            Some(Child::GoOn { file, count }) => Task::GoOn(file, count),
        }
    }

    fn plan(self) -> Plan {
        let size = if self.quick { Plan::full().quick() } else { Plan::full() };
        Plan { strict: self.strict, only: self.only, compile: self.compile, peers: self.peers, ..size }
    }
}

/// The task of a process of this program.
#[derive(Debug)]
pub(in crate::load) enum Task {
    /// Measure everything and report.
    Measure(Plan),
    /// Open this file in a fresh process, print the cost, and end.
    Open(PathBuf),
    /// Make these calls in a fresh process, print the cost, and end.
    Call(Calls),
    /// Start this many waiting runs in this file, in a fresh process. Print the memory of the runs, and end.
    Wait(PathBuf, u64),
    /// Let a run continue for this many generations in this file, in a fresh process. Print how much data
    /// and memory is left behind, and end.
    GoOn(PathBuf, u64),
}

/// The numbers of one run.
#[derive(Clone, Debug)]
pub(in crate::load) struct Plan {
    pub(in crate::load) quick: bool,
    pub(in crate::load) strict: bool,
    pub(in crate::load) only: Option<String>,
    /// Whether only builds are measured.
    pub(in crate::load) compile: bool,
    /// Whether only the comparison with other crates is made.
    pub(in crate::load) peers: bool,
    /// How often the bare writer and the kernel are measured in turn.
    pub(in crate::load) rounds: usize,
    /// The length of each measurement.
    pub(in crate::load) span: Duration,
    /// The number of calls in the chain that shows the cost of a call.
    pub(in crate::load) calls: u64,
    pub(in crate::load) alarms: u32,
    /// The time over which the alarms are spread evenly.
    pub(in crate::load) alarms_over: Duration,
    pub(in crate::load) sleepers: u32,
    /// The number of workflow runs that sleep or wait.
    pub(in crate::load) runs: u32,
    /// The number of generations of one run.
    pub(in crate::load) generations: u64,
    /// The number of steps in the longest run that is replayed.
    pub(in crate::load) replayed: u32,
    /// The number of items in a deep queue.
    pub(in crate::load) depth: u64,
    /// The number of waits besides those that get the event.
    pub(in crate::load) watchers: u64,
}

impl Plan {
    fn full() -> Self {
        Self {
            quick: false,
            strict: false,
            only: None,
            compile: false,
            peers: false,
            rounds: 15,
            span: Duration::from_millis(600),
            calls: 200_000,
            alarms: 100_000,
            alarms_over: Duration::from_secs(1),
            sleepers: 1_000_000,
            runs: 100_000,
            generations: 10_000,
            replayed: 10_000,
            depth: 1_000_000,
            watchers: 1_000_000,
        }
    }

    /// The same load per second, for a shorter time.
    fn quick(self) -> Self {
        Self {
            quick: true,
            rounds: 5,
            span: Duration::from_millis(300),
            calls: 20_000,
            alarms: 20_000,
            alarms_over: Duration::from_millis(200),
            sleepers: 100_000,
            runs: 20_000,
            generations: 2_500,
            depth: 100_000,
            watchers: 100_000,
            ..self
        }
    }

    /// Whether this part is to be measured.
    pub(in crate::load) fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, clap::Error> {
        let words = std::iter::once("load").chain(line.split_whitespace());
        Ok(CommandLine::try_parse_from(words)?.task())
    }

    #[test]
    fn options_add_up_in_any_order() {
        let Ok(Task::Measure(plan)) = parsed("--strict --quick --only alarms") else { panic!("a plan") };
        assert!(plan.strict && plan.quick && plan.wants("alarms") && !plan.wants("writes"));
        let (quick, full) = (f64::from(plan.alarms) / plan.alarms_over.as_secs_f64(), 100_000.0);
        assert_eq!(quick, full);
    }

    #[test]
    fn a_wrong_option_is_refused_and_the_right_ones_are_named() {
        assert!(parsed("--quik").unwrap_err().to_string().contains("--quick"));
        assert!(parsed("--only everything").unwrap_err().to_string().contains("sleepers"));
    }

    #[test]
    fn a_fresh_process_is_given_its_measurement() {
        assert!(matches!(parsed("calls adder 500"), Ok(Task::Call(Calls { whose: Whose::Adder, count: 500 }))));
        assert!(matches!(parsed("go-on f.db 7"), Ok(Task::GoOn(_, 7))));
    }
}
