//! Why a turn of an entity of ours does not come to a commit.

use drystone_runtime::{Error, Next, Range};
use serde::Serialize;

use crate::encode;

/// Why a turn does not come to a commit.
pub(crate) enum Halt {
    /// These rows are needed first.
    Read(Range),
    /// The caller gets this error, or the message is refused with it.
    Refuse(Error),
    /// What is stored cannot be read.
    Park(String),
}

impl Halt {
    /// An error of ours, for whoever asked.
    pub(crate) fn own(verb: &str, error: &impl Serialize) -> Self {
        match encode(error) {
            Ok(error) => Self::Refuse(Error::Declined(error)),
            Err(reason) => Self::malformed(verb, reason),
        }
    }

    pub(crate) fn malformed(verb: &str, reason: String) -> Self {
        Self::Refuse(Error::Malformed { verb: verb.to_owned(), reason })
    }
}

impl From<Halt> for Next {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Read(range) => Self::Read(vec![range]),
            Halt::Refuse(error) => Self::Refuse(error),
            Halt::Park(reason) => Self::Park(reason),
        }
    }
}
