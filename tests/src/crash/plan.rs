//! What a process of this program is to do, as its command line says.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail};
use drystone_runtime::stable_hash;

use super::op::Op;

const USAGE: &str = "usage: cargo crash [-- [--kills N] [--seed N]]";

/// A kill comes so long after its child was started: some while it opens, most while it works.
const KILL_AFTER_MS: std::ops::Range<u64> = 5..120;

/// How the parent goes about it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many children are killed.
    pub kills: u32,
    /// Decides when.
    pub seed: u64,
    /// This program.
    pub program: PathBuf,
}

impl Plan {
    /// When the child of this round is killed, counted from its start.
    pub(super) fn kill_after(&self, round: u32) -> Duration {
        let chance = stable_hash(&[&self.seed.to_be_bytes(), &round.to_be_bytes()]);
        let span = KILL_AFTER_MS.end - KILL_AFTER_MS.start + 1;
        Duration::from_millis(KILL_AFTER_MS.start + chance % span)
    }
}

/// What one child does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Errand {
    /// The store.
    pub(super) file: PathBuf,
    /// Operations that were begun and not acknowledged: they are asked again first.
    pub(super) pending: Vec<Op>,
    /// The first operation that nobody began.
    pub(super) next: u64,
    /// Whether to bring everything to rest and end, instead of going on for ever.
    pub(super) finish: bool,
}

impl Errand {
    /// The command line that [`parse`] reads.
    pub(super) fn arguments(&self) -> Vec<String> {
        let pending: Vec<_> = self.pending.iter().map(|op| op.0.to_string()).collect();
        let finish = if self.finish { "finish" } else { "work" };
        let words = ["--child", &self.file.to_string_lossy(), finish, &self.next.to_string(), &pending.join(",")];
        words.map(str::to_owned).to_vec()
    }
}

/// Parent or child.
#[derive(Debug)]
pub(super) enum Task {
    Parent(Plan),
    Child(Errand),
}

/// Reads the command line.
pub(super) fn parse(program: PathBuf, mut arguments: impl Iterator<Item = String>) -> Result<Task> {
    let mut plan = Plan { kills: 200, seed: 1, program };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("`{argument}` needs a value\n{USAGE}"));
        match argument.as_str() {
            "--kills" => plan.kills = value()?.parse()?,
            "--seed" => plan.seed = value()?.parse()?,
            "--child" => return errand(value).map(Task::Child),
            _ => bail!("`{argument}` is not an option\n{USAGE}"),
        }
    }
    Ok(Task::Parent(plan))
}

fn errand(mut value: impl FnMut() -> Result<String>) -> Result<Errand> {
    let (file, finish, next) = (value()?.into(), value()? == "finish", value()?.parse()?);
    let pending = value()?.split_terminator(',').map(|op| Ok(Op(op.parse()?))).collect::<Result<_>>()?;
    Ok(Errand { file, pending, next, finish })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: impl IntoIterator<Item = String>) -> Result<Task> {
        parse("crash".into(), words.into_iter())
    }

    #[test]
    fn an_errand_reaches_the_child_as_it_was_given() {
        for pending in [vec![], vec![Op(7), Op(9)]] {
            let errand = Errand { file: "/a b/c.db".into(), pending, next: 12, finish: true };
            let Ok(Task::Child(heard)) = parsed(errand.arguments()) else { panic!("an errand") };
            assert_eq!(heard, errand);
        }
    }

    #[test]
    fn kills_come_within_their_range_and_alike_for_one_seed() {
        let plan = Plan { kills: 1, seed: 7, program: PathBuf::new() };
        let moments: Vec<_> = (0..2_000).map(|round| plan.kill_after(round).as_millis()).collect();
        assert_eq!((moments.iter().min(), moments.iter().max()), (Some(&5), Some(&120)));
        assert_eq!(plan.kill_after(3), plan.clone().kill_after(3));
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        assert!(parsed(["--kill".into()]).unwrap_err().to_string().contains("--kills N"));
        assert!(parsed(["--kills".into()]).unwrap_err().to_string().contains("needs a value"));
    }
}
