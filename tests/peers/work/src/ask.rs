//! What is to be measured, as a child is asked on its command line.

use std::{error::Error, fmt, path::PathBuf, str::FromStr};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Many items by many producers, until all are finished.
    Throughput,
    /// One item after another, with nothing else going on.
    Alone,
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is done.
    pub work: Work,
    /// Over how many queues.
    pub queues: usize,
    /// How many items; none: as many as take some seconds.
    pub items: Option<u64>,
    /// Where the database is made.
    pub dir: PathBuf,
}

impl Ask {
    /// Reads `--work throughput|alone --queues N [--items N] --dir PATH`.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut ask = Self { work: Work::Throughput, queues: 1, items: None, dir: PathBuf::new() };
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{option}` has no value"))?;
            match option.as_str() {
                "--work" => ask.work = value.parse()?,
                "--queues" => ask.queues = value.parse()?,
                "--items" => ask.items = Some(value.parse()?),
                "--dir" => ask.dir = value.into(),
                _ => return Err(format!("`{option}` is not an option").into()),
            }
        }
        if ask.dir.as_os_str().is_empty() || ask.queues == 0 {
            return Err("`--dir` and at least one queue are needed".into());
        }
        Ok(ask)
    }

    /// The command line that [`Ask::parse`] reads.
    pub fn arguments(&self) -> Vec<String> {
        let dir = self.dir.display().to_string();
        let mut all = ["--work", &self.work.to_string(), "--queues", &self.queues.to_string(), "--dir", &dir]
            .map(str::to_owned)
            .to_vec();
        if let Some(items) = self.items {
            all.extend(["--items".to_owned(), items.to_string()]);
        }
        all
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "throughput" => Ok(Self::Throughput),
            "alone" => Ok(Self::Alone),
            _ => Err(format!("`{name}` is no work; write throughput or alone")),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Throughput => "throughput",
            Self::Alone => "alone",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_what_is_read() {
        let ask = Ask { work: Work::Alone, queues: 100, items: Some(7), dir: "a b".into() };
        let read = Ask::parse(ask.arguments().into_iter()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{ask:?}"));
        let ask = Ask { items: None, ..ask };
        assert_eq!(Ask::parse(ask.arguments().into_iter()).unwrap().items, None);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let refused = |line: &str| Ask::parse(line.split(' ').map(str::to_owned)).is_err();
        assert!(refused("--work sleep --dir d") && refused("--fast 1 --dir d") && refused("--queues 1"));
    }
}
