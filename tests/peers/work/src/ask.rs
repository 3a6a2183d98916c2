//! What is to be measured, as a child is asked on its command line.

use std::{error::Error, fmt, path::PathBuf};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Many items by many producers over so many queues, until all are finished.
    Throughput {
        /// Taken in turns.
        queues: usize,
    },
    /// One item after another in one queue, with nothing else going on.
    Alone,
    /// Runs of [`STEPS`](crate::STEPS) steps, so many of them always under way.
    Runs {
        /// Each is started when one before it is finished.
        at_once: usize,
    },
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is done.
    pub work: Work,
    /// How many items, or runs; none: as many as take so many seconds.
    pub items: Option<u64>,
    /// At least. One item alone is done a number of times instead.
    pub seconds: u64,
    /// Where the database is made.
    pub dir: PathBuf,
}

impl Ask {
    /// What is long enough to be believed.
    pub const SECONDS: u64 = 3;

    /// Reads `--work throughput|alone|runs [--queues N] [--at-once N] [--items N] [--seconds N] --dir PATH`.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let (mut work, mut queues, mut at_once) = ("throughput".to_owned(), 1, 1);
        let (mut items, mut seconds, mut dir) = (None, Self::SECONDS, PathBuf::new());
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{option}` has no value"))?;
            match option.as_str() {
                "--work" => work = value,
                "--queues" => queues = value.parse()?,
                "--at-once" => at_once = value.parse()?,
                "--items" => items = Some(value.parse()?),
                "--seconds" => seconds = value.parse()?,
                "--dir" => dir = value.into(),
                _ => return Err(format!("`{option}` is not an option").into()),
            }
        }
        if dir.as_os_str().is_empty() || queues == 0 || at_once == 0 {
            return Err("`--dir`, and at least one queue or run at once, are needed".into());
        }
        Ok(Self { work: Work::named(&work, queues, at_once)?, items, seconds, dir })
    }

    /// The command line that [`Ask::parse`] reads.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = self.work.arguments();
        let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
        add("--seconds", self.seconds.to_string());
        add("--dir", self.dir.display().to_string());
        if let Some(items) = self.items {
            add("--items", items.to_string());
        }
        all
    }
}

impl Work {
    /// Over how many queues; there are none if runs are asked for.
    pub fn queues(self) -> Result<usize, Box<dyn Error>> {
        match self {
            Self::Throughput { queues } => Ok(queues),
            Self::Alone => Ok(1),
            Self::Runs { .. } => Err("runs are not the work of a queue".into()),
        }
    }

    /// How many runs at once, if runs are asked for.
    pub fn at_once(self) -> Result<usize, Box<dyn Error>> {
        match self {
            Self::Runs { at_once } => Ok(at_once),
            Self::Throughput { .. } | Self::Alone => Err("an engine has no queue; ask it for runs".into()),
        }
    }

    fn named(name: &str, queues: usize, at_once: usize) -> Result<Self, String> {
        match name {
            "throughput" => Ok(Self::Throughput { queues }),
            "alone" => Ok(Self::Alone),
            "runs" => Ok(Self::Runs { at_once }),
            _ => Err(format!("`{name}` is no work; write throughput, alone or runs")),
        }
    }

    fn arguments(self) -> Vec<String> {
        match self {
            Self::Throughput { queues } => strings(["--work", "throughput", "--queues", &queues.to_string()]),
            Self::Alone => strings(["--work", "alone"]),
            Self::Runs { at_once } => strings(["--work", "runs", "--at-once", &at_once.to_string()]),
        }
    }
}

fn strings<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_owned).to_vec()
}

/// Also a part of file names.
impl fmt::Display for Work {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throughput { queues } => write!(out, "throughput-{queues}"),
            Self::Alone => out.write_str("alone"),
            Self::Runs { at_once } => write!(out, "runs-{at_once}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_what_is_read() {
        for work in [Work::Throughput { queues: 100 }, Work::Alone, Work::Runs { at_once: 64 }] {
            for items in [Some(7), None] {
                let ask = Ask { work, items, seconds: 10, dir: "a b".into() };
                let read = Ask::parse(ask.arguments().into_iter()).unwrap();
                assert_eq!(format!("{read:?}"), format!("{ask:?}"));
            }
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let refused = |line: &str| Ask::parse(line.split(' ').map(str::to_owned)).is_err();
        assert!(refused("--work sleep --dir d") && refused("--fast 1 --dir d") && refused("--queues 1"));
        assert!(refused("--work runs --at-once 0 --dir d"));
    }
}
