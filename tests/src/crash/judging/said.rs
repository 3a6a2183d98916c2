//! The lines that a child writes to its pipe. Only lines written before the child was killed count.

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

use anyhow::{Context, Error, Result, bail};

use crate::crash::{op::Op, parts::part::Part};

/// One line of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::crash) enum Said {
    /// One more file is open, and earlier work in it has been taken up.
    Opened,
    /// The runs that must hear the whole round have begun.
    Gathered,
    /// Everything that the round before left in the files is gone.
    Retired,
    /// Code of this part runs.
    Moved(Part),
    /// This operation is about to be asked for the first time.
    Begun(Op),
    /// The operation was answered with this number. From here on it must never be lost.
    Acknowledged(Op, u64),
    /// The operation's work has started.
    Ran(Op),
    /// The execution of a job has begun, under this name, which must always be the same.
    Processed(Op, u64),
    /// The success of the job is recorded. From here on it must never be executed.
    Recorded(Op),
    /// The run of this operation holds the only permit of its dock.
    Docked(Op),
    /// The run is about to give its permit back.
    Undocked(Op),
    /// Everything has come to rest and the kernels are closed.
    Finished,
}

impl Said {
    /// Writes the line to the pipe and flushes it. When this returns, the parent can read the line, even if
    /// this process dies.
    pub(in crate::crash) fn aloud(self) {
        let mut out = io::stdout().lock();
        // An error means that the parent has stopped reading. It will end this process.
        let _ = writeln!(out, "{self}").and_then(|()| out.flush());
    }
}

impl fmt::Display for Said {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened => out.write_str("opened"),
            Self::Gathered => out.write_str("gathered"),
            Self::Retired => out.write_str("retired"),
            Self::Moved(part) => write!(out, "moved {}", *part as u32),
            Self::Begun(op) => write!(out, "begun {}", op.0),
            Self::Acknowledged(op, number) => write!(out, "acknowledged {} {number}", op.0),
            Self::Ran(op) => write!(out, "ran {}", op.0),
            Self::Processed(op, name) => write!(out, "processed {} {name}", op.0),
            Self::Recorded(op) => write!(out, "recorded {}", op.0),
            Self::Docked(op) => write!(out, "docked {}", op.0),
            Self::Undocked(op) => write!(out, "undocked {}", op.0),
            Self::Finished => out.write_str("finished"),
        }
    }
}

impl FromStr for Said {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self> {
        let mut words = line.split(' ');
        let verb = words.next().unwrap_or_default();
        let mut number = || anyhow::Ok(words.next().context("a number is missing")?.parse::<u64>()?);
        Ok(match verb {
            "opened" => Self::Opened,
            "gathered" => Self::Gathered,
            "retired" => Self::Retired,
            "moved" => Self::Moved(Part::numbered(number()?).context("there is no such part")?),
            "begun" => Self::Begun(Op(number()?)),
            "acknowledged" => Self::Acknowledged(Op(number()?), number()?),
            "ran" => Self::Ran(Op(number()?)),
            "processed" => Self::Processed(Op(number()?), number()?),
            "recorded" => Self::Recorded(Op(number()?)),
            "docked" => Self::Docked(Op(number()?)),
            "undocked" => Self::Undocked(Op(number()?)),
            "finished" => Self::Finished,
            _ => bail!("a child said `{line}`"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_is_heard() {
        let plain = [Said::Opened, Said::Gathered, Said::Retired, Said::Finished];
        let jobs = [Said::Processed(Op(5), 6), Said::Recorded(Op(7)), Said::Docked(Op(8)), Said::Undocked(Op(9))];
        let others = [Said::Begun(Op(1)), Said::Acknowledged(Op(2), 3), Said::Ran(Op(4)), Said::Moved(Part::Topics)];
        for said in plain.into_iter().chain(jobs).chain(others) {
            assert_eq!(said.to_string().parse::<Said>().unwrap(), said);
        }
        assert!("acknowledged 2".parse::<Said>().is_err());
        assert!("moved 99".parse::<Said>().is_err());
    }
}
