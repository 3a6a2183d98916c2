//! How much is measured, as asked on the command line.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, bail};

use super::typed::Calls;

pub(super) const USAGE: &str = "\
usage: cargo load [-- [--quick] [--strict] [--only PART] [--compile] [--peers]]
  --quick    smaller numbers, about two minutes in all
  --strict   exit with 1 if a goal is not met
  --only     one part alone: writes, typed, queues, permits, workflows, topics, alarms or sleepers
  --compile  instead of all that: what the macros cost a build
  --peers    instead of all that: our queue beside other embedded ones, and runs (builds them, minutes the first time)";

/// What a process of this program is to do.
#[derive(Debug)]
pub(super) enum Task {
    /// Measure everything and report.
    Measure(Plan),
    /// Open this file in a fresh process, say what that cost, and end.
    Open(PathBuf),
    /// Make these calls in a fresh process, say what they cost, and end.
    Call(Calls),
    /// Start so many runs that wait, in this file and a fresh process, say what memory they take, and end.
    Wait(PathBuf, u64),
    /// Let a run go on as so many generations, in this file and a fresh process, say what that leaves, and end.
    GoOn(PathBuf, u64),
}

/// The numbers of one run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) quick: bool,
    pub(super) strict: bool,
    pub(super) only: Option<String>,
    /// Whether builds are measured, and nothing else.
    pub(super) compile: bool,
    /// Whether queues are compared with others', and nothing else.
    pub(super) peers: bool,
    /// How often the bare writer and the kernel are measured in turn.
    pub(super) rounds: usize,
    /// How long each of them is, each time.
    pub(super) span: Duration,
    /// How many calls are made in a chain to see what each costs.
    pub(super) calls: u64,
    pub(super) alarms: u32,
    /// The alarms are spread evenly over this.
    pub(super) alarms_over: Duration,
    pub(super) sleepers: u32,
    /// How many runs of workflows sleep, or wait.
    pub(super) runs: u32,
    /// How many generations one run goes through.
    pub(super) generations: u64,
    /// How many steps the longest run has that is replayed.
    pub(super) replayed: u32,
    /// How many items are in a deep queue.
    pub(super) depth: u64,
    /// How many wait beside those who are told of an event.
    pub(super) watchers: u64,
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
    pub(super) fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}

/// Reads the command line.
pub(super) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Task> {
    let mut plan = Plan::full();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), &mut plan) {
            ("--quick", _) => plan = plan.quick(),
            ("--strict", plan) => plan.strict = true,
            ("--only", plan) => plan.only = Some(part(arguments.next())?),
            ("--compile", plan) => plan.compile = true,
            ("--peers", plan) => plan.peers = true,
            ("--open", _) => return Ok(Task::Open(arguments.next().unwrap_or_default().into())),
            ("--wait", _) => return counted(arguments.next(), arguments.next(), Task::Wait),
            ("--go-on", _) => return counted(arguments.next(), arguments.next(), Task::GoOn),
            ("--calls", _) => return calls(arguments.next(), arguments.next()),
            _ => bail!("`{argument}` is not an option\n{USAGE}"),
        }
    }
    Ok(Task::Measure(plan))
}

fn calls(whose: Option<String>, count: Option<String>) -> Result<Task> {
    let (whose, count) = (whose.unwrap_or_default().parse()?, count.unwrap_or_default().parse()?);
    Ok(Task::Call(Calls { whose, count }))
}

fn counted(path: Option<String>, count: Option<String>, task: fn(PathBuf, u64) -> Task) -> Result<Task> {
    Ok(task(path.unwrap_or_default().into(), count.unwrap_or_default().parse()?))
}

fn part(name: Option<String>) -> Result<String> {
    match name.as_deref() {
        Some("writes" | "typed" | "queues" | "permits" | "workflows" | "topics" | "alarms" | "sleepers") => {
            Ok(name.unwrap_or_default())
        }
        _ => bail!("`--only` takes one of these parts\n{USAGE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_add_up_in_any_order() {
        let Ok(Task::Measure(plan)) = parsed("--strict --quick --only alarms") else { panic!("a plan") };
        assert!(plan.strict && plan.quick && plan.wants("alarms") && !plan.wants("writes"));
        let (quick, full) = (f64::from(plan.alarms) / plan.alarms_over.as_secs_f64(), 100_000.0);
        assert_eq!(quick, full);
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        assert!(parsed("--fast").unwrap_err().to_string().contains("--quick"));
        assert!(parsed("--only everything").unwrap_err().to_string().contains("sleepers"));
    }
}
