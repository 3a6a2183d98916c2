//! What can go wrong, for two readers: the program branches on the variant, the person reads the sentence.

use bytes::Bytes;

use crate::{Key, Parked, Partition, store::StoreError};

/// Why a call, a turn or an opening did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The author's own error, as bytes: what the code answered.
    #[error("the code of the entity returned an error ({} bytes)", .0.len())]
    Failed(Bytes),
    /// The code panicked; nothing it did was kept (E6).
    #[error("the code of `{key}` panicked: {message}")]
    Panicked {
        /// Whose code.
        key: Key,
        /// The panic's message.
        message: String,
    },
    /// Nothing is bound to the key and this call cannot bind it (E1).
    #[error("nothing is bound to `{key}`: its first write binds it, or `start`; a read never does")]
    NotBound {
        /// The key.
        key: Key,
    },
    /// The key belongs to another definition (E2).
    #[error(
        "`{key}` is bound to `{bound}`, not to `{requested}`: in an app with `.shared_keys()` a key belongs to one primitive"
    )]
    TypeMismatch {
        /// The key.
        key: Key,
        /// What it is bound to.
        bound: String,
        /// What was asked for.
        requested: String,
    },
    /// No definition has this name (E9).
    #[error("no primitive named `{name}`; this app has: {}", .known.join(", "))]
    UnknownDefinition {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The definition has no such verb (E9).
    #[error("`{definition}` has no action `{verb}`; it has: {}", .known.join(", "))]
    UnknownVerb {
        /// The definition.
        definition: String,
        /// The verb.
        verb: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// Its input, its answer, or the state it would leave cannot be read or written.
    #[error("`{verb}` is refused: {reason}")]
    Malformed {
        /// What was asked.
        verb: String,
        /// Where and why.
        reason: String,
    },
    /// The entity is not run; its record is as it was (E10).
    #[error("`{key}` is parked: {reason}")]
    Parked {
        /// The key.
        key: Key,
        /// Why.
        reason: Parked,
    },
    /// The entity was destroyed while the call waited (E8).
    #[error("`{key}` was destroyed while the call waited")]
    Destroyed {
        /// The key.
        key: Key,
    },
    /// The entity called waits, over this chain, for the caller (M3).
    #[error("a call to `{}` would wait for itself; these wait for one another: {}", .chain.last().map(ToString::to_string).unwrap_or_default(), show_chain(.chain))]
    Cycle {
        /// Who waits for whom, the refused call last.
        chain: Vec<Key>,
    },
    /// The answer did not come in time. A call that had begun may still take effect.
    #[error("no answer from `{key}` before the deadline; the call may still take effect")]
    Deadline {
        /// The key.
        key: Key,
    },
    /// It is not known whether the call took effect; an idempotency key tells (E12).
    #[error("it is not known whether the call of `{key}` took effect; ask again with an idempotency key")]
    Unknown {
        /// The key.
        key: Key,
    },
    /// The idempotency key was used before, for another action or input (E12).
    #[error("the idempotency key was used on `{key}` for another action or input")]
    IdempotencyMismatch {
        /// The key.
        key: Key,
    },
    /// A bound is reached; try again later (R8).
    #[error("overloaded: {what}; try again later")]
    Overloaded {
        /// Which bound.
        what: Limit,
    },
    /// Something is larger than allowed; nothing was written (K3).
    #[error("{what}: {found} is beyond the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: Limit,
        /// How large it is.
        found: usize,
        /// How large it may be.
        limit: usize,
    },
    /// Another worker owns the key.
    #[error("partition {} is owned by {}", .partition.0, .owner.as_deref().unwrap_or("nobody yet"))]
    NotOwner {
        /// The key's partition.
        partition: Partition,
        /// Its owner's address, if known.
        owner: Option<String>,
    },
    /// The kernel is shutting down.
    #[error("the runtime is shutting down, or has ended")]
    Closing,
    /// The store cannot be written or read at the moment.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// The entity does not take this as it stands: it has ended, or was stopped.
    #[error("`{verb}` is refused: `{key}` is {status}")]
    Refused {
        /// The key.
        key: Key,
        /// What was asked.
        verb: String,
        /// How it stands, in its kind's own word.
        status: String,
    },
    /// The entity has stopped or failed, and a start was given a state or arguments, which it would not use (C2).
    #[error(
        "`{key}` is {status} and keeps its state, so `{verb}` is refused: `resume()` goes on with that state, and `replace(state)` sets another"
    )]
    KeepsState {
        /// The key.
        key: Key,
        /// What was asked.
        verb: String,
        /// How it stands, in its kind's own word.
        status: String,
    },
    /// A definition writes rows of its own, and the store has no SQL (W6).
    #[error("`{definition}` has the transactional step `{work}`, and this store has no SQL: open it over SQLite")]
    NoSql {
        /// The definition.
        definition: String,
        /// Its step.
        work: String,
    },
    /// The store has recorded the other choice of keys, shared or separate; nothing was changed (E2).
    #[error("{}", show_keys(.recorded))]
    OtherKeys {
        /// What the store has: `shared`, `separate`, or the word of a newer version.
        recorded: String,
    },
    /// The kind's own refusal, as bytes: nothing was changed, and later it may be otherwise. So it is not remembered (E12).
    #[error("the entity refused ({} bytes say why)", .0.len())]
    Declined(Bytes),
}

fn show_chain(chain: &[Key]) -> String {
    chain.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}

fn show_keys(recorded: &str) -> String {
    match recorded {
        "shared" => {
            "all primitives of this store share their keys: write `.shared_keys()` before `.start()`".to_owned()
        }
        "separate" => "each primitive of this store has keys of its own: leave out `.shared_keys()`".to_owned(),
        other => {
            format!("the keys of this store are `{other}`, a choice that this program does not know: use a newer one")
        }
    }
}

impl Error {
    /// A stable code for this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Failed(_) => "DS0001",
            Self::Panicked { .. } => "DS0002",
            Self::NotBound { .. } => "DS0003",
            Self::TypeMismatch { .. } => "DS0004",
            Self::UnknownDefinition { .. } => "DS0005",
            Self::UnknownVerb { .. } => "DS0006",
            Self::Malformed { .. } => "DS0007",
            Self::Parked { .. } => "DS0008",
            Self::Destroyed { .. } => "DS0009",
            Self::Cycle { .. } => "DS0010",
            Self::Deadline { .. } => "DS0011",
            Self::Unknown { .. } => "DS0012",
            Self::IdempotencyMismatch { .. } => "DS0013",
            Self::Overloaded { .. } => "DS0014",
            Self::TooLarge { .. } => "DS0015",
            Self::NotOwner { .. } => "DS0016",
            Self::Closing => "DS0017",
            Self::Store(_) => "DS0018",
            Self::Refused { .. } => "DS0019",
            Self::NoSql { .. } => "DS0020",
            Self::Declined(_) => "DS0021",
            Self::KeepsState { .. } => "DS0022",
            Self::OtherKeys { .. } => "DS0023",
        }
    }

    /// What the author's code or the kind has said, as bytes; `None` if it was the kernel.
    pub fn own(&self) -> Option<&Bytes> {
        match self {
            Self::Failed(own) | Self::Declined(own) => Some(own),
            _ => None,
        }
    }

    /// Whether the same call may succeed later, with nothing changed by the caller.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Deadline { .. } | Self::Unknown { .. } | Self::Overloaded { .. } | Self::NotOwner { .. } => true,
            Self::Closing => true,
            Self::Store(error) => error.is_retryable(),
            _ => false,
        }
    }
}

/// A bound of the kernel (K3, R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Bytes of a key.
    KeyBytes,
    /// Bytes of a name.
    NameBytes,
    /// A name that is empty.
    EmptyName,
    /// Bytes of one payload: an input, a reply, a record, a row, a message.
    PayloadBytes,
    /// Bytes of one commit.
    CommitBytes,
    /// Row changes of one commit.
    CommitRows,
    /// Calls waiting for one key.
    CallsPerKey,
    /// Bytes of waiting calls.
    WaitingBytes,
    /// Commits waiting for the writer.
    WaitingCommits,
    /// Pieces of work running.
    Work,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::KeyBytes => "bytes of a key (at least one)",
            Self::NameBytes => "bytes of a name",
            Self::EmptyName => "a name must not be empty",
            Self::PayloadBytes => "bytes of a payload",
            Self::CommitBytes => "bytes of a commit",
            Self::CommitRows => "row changes of a commit",
            Self::CallsPerKey => "calls waiting for one key",
            Self::WaitingBytes => "bytes of waiting calls",
            Self::WaitingCommits => "commits waiting for the store",
            Self::Work => "pieces of work running",
        })
    }
}
