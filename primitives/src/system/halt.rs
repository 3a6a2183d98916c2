//! Why a turn of a built-in entity (a topic, the dead letters) ends without a commit.

use drystone_runtime::{Error, Next, Range};
use serde::Serialize;

use crate::encode;

/// Why a turn ends without a commit.
pub(crate) enum Halt {
    /// The turn needs these rows first.
    Read(Range),
    /// The caller gets this error; a message is refused with it.
    Refuse(Error),
    /// The stored bytes cannot be read.
    Park(String),
}

impl Halt {
    /// Refuses with an error of the verb's own.
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
