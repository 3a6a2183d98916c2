//! What a process of this program is to do, as its command line says.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{moment::Moment, op::Op};

const USAGE: &str = "usage: cargo crash [-- [--kills N] [--seed N]]";

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
    /// When the child of this round is killed; `None` if enough are, and it may finish.
    pub(super) fn moment(&self, kills: u32, aborts: u32) -> Option<Moment> {
        (kills < self.kills).then(|| Moment::of(self.seed, kills, kills + aborts))
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
    fn whoever_comes_after_the_last_kill_may_finish() {
        let plan = Plan { kills: 2, seed: 7, program: PathBuf::new() };
        assert!(plan.moment(1, 9).is_some());
        assert_eq!(plan.moment(2, 0), None);
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        assert!(parsed(["--kill".into()]).unwrap_err().to_string().contains("--kills N"));
        assert!(parsed(["--kills".into()]).unwrap_err().to_string().contains("needs a value"));
    }
}
