//! The command line: the task of a process of this program.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{op::Op, processes::moment::Moment};

/// Kills a real process on real SQLite files with SIGKILL, starts it again, and checks the files.
///
/// Nothing that was acknowledged may be lost, nothing may be there twice, and everything that was begun must
/// end. The exit code is 1 if a promise was broken, or if the processes had done too little when they were
/// killed. The files of a failed campaign are kept, and their directory is printed.
#[derive(Debug, Parser)]
#[command(name = "crash", bin_name = "cargo crash --", disable_help_subcommand = true)]
pub(super) struct CommandLine {
    /// The number of processes to kill.
    #[arg(long, value_name = "N", default_value_t = 200)]
    kills: u32,
    /// The seed that decides the moments of the kills.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Runs the process that is killed. The campaign starts it.
    #[command(hide = true)]
    Child(Errand),
}

impl CommandLine {
    /// Returns the task of this process. The parent starts `program` as its children.
    pub(super) fn task(self, program: PathBuf) -> Task {
        match self.part {
            Some(Part::Child(errand)) => Task::Child(errand),
            None => Task::Parent(Plan { kills: self.kills, seed: self.seed, program }),
        }
    }
}

/// The plan of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of children to kill.
    pub kills: u32,
    /// The seed that decides the moments of the kills.
    pub seed: u64,
    /// The path of this program.
    pub program: PathBuf,
}

impl Plan {
    /// The moment at which a child is killed.
    pub(super) fn moment(&self, life: u32) -> Moment {
        Moment::of(self.seed, life)
    }
}

/// The task of one child.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Errand {
    /// The file of the kernel.
    #[arg(long)]
    pub(super) file: PathBuf,
    /// The round of the child.
    #[arg(long)]
    pub(super) round: u64,
    /// Operations that were begun and not acknowledged. They are repeated first.
    #[arg(long, value_parser = op)]
    pub(super) pending: Vec<Op>,
    /// The first operation that has not begun.
    #[arg(long)]
    pub(super) next: u64,
    /// Whether to bring everything to rest and end, instead of continuing forever.
    #[arg(long)]
    pub(super) finish: bool,
    /// Whether the runs that must hear the whole round have begun.
    #[arg(long)]
    pub(super) gathered: bool,
    /// The number of turns of the round before, which are to be retired.
    #[arg(long)]
    pub(super) retire: u64,
}

impl Errand {
    /// The arguments that [`CommandLine`] parses.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut words = vec!["child".to_owned()];
        words.push(format!("--file={}", self.file.to_string_lossy()));
        words.push(format!("--round={}", self.round));
        words.push(format!("--next={}", self.next));
        words.push(format!("--retire={}", self.retire));
        words.extend(self.pending.iter().map(|op| format!("--pending={}", op.0)));
        words.extend(self.finish.then(|| "--finish".to_owned()));
        words.extend(self.gathered.then(|| "--gathered".to_owned()));
        words
    }
}

fn op(word: &str) -> Result<Op, std::num::ParseIntError> {
    word.parse().map(Op)
}

/// The task of a process.
#[derive(Debug)]
pub(super) enum Task {
    Parent(Plan),
    Child(Errand),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: impl IntoIterator<Item = String>) -> Result<Task, clap::Error> {
        let line = CommandLine::try_parse_from(std::iter::once("crash".to_owned()).chain(words))?;
        Ok(line.task(PathBuf::new()))
    }

    #[test]
    fn an_errand_reaches_the_child_as_it_was_given() {
        for pending in [vec![], vec![Op(7), Op(9)]] {
            let file = "/a b/c.db".into();
            let errand = Errand { file, round: 3, pending, next: 12, finish: true, gathered: true, retire: 7 };
            let Ok(Task::Child(heard)) = parsed(errand.arguments()) else { panic!("an errand") };
            assert_eq!(heard, errand);
        }
    }

    #[test]
    fn an_unknown_option_is_refused_and_the_known_one_is_named() {
        assert!(parsed(["--kill".into()]).unwrap_err().to_string().contains("--kills"));
        assert!(parsed(["--kills".into()]).unwrap_err().to_string().contains("value is required"));
    }
}
