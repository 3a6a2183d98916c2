//! The errors of this crate. Each has two readers: the program branches on the variant, a person reads the
//! sentence.

use bytes::Bytes;

use crate::{Key, Parked, Partition, store::StoreError};

/// Why a call, a turn or an opening failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The author's code returned this error, encoded as bytes.
    #[error("the code of the entity returned an error ({} bytes)", .0.len())]
    Failed(Bytes),
    /// The code panicked; nothing that it did was kept (E6).
    #[error("the code of `{key}` panicked: {message}")]
    Panicked {
        /// The entity whose code panicked.
        key: Key,
        /// The message of the panic.
        message: String,
    },
    /// The key is not bound, and this call cannot bind it (E1).
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
        /// The definition that the key is bound to.
        bound: String,
        /// The definition that was requested.
        requested: String,
    },
    /// No definition has this name (E9).
    #[error("no primitive named `{name}`; this app has: {}", .known.join(", "))]
    UnknownDefinition {
        /// The name.
        name: String,
        /// The definitions that exist.
        known: Vec<String>,
    },
    /// The definition has no such verb (E9).
    #[error("`{definition}` has no action `{verb}`; it has: {}", .known.join(", "))]
    UnknownVerb {
        /// The definition.
        definition: String,
        /// The verb.
        verb: String,
        /// The verbs that exist.
        known: Vec<String>,
    },
    /// The input, the answer, or the resulting state cannot be read or written.
    #[error("`{verb}` is refused: {reason}")]
    Malformed {
        /// The verb.
        verb: String,
        /// Where and why.
        reason: String,
    },
    /// The entity is parked and does not run; its record is unchanged (E10).
    #[error("`{key}` is parked: {reason}")]
    Parked {
        /// The key.
        key: Key,
        /// Why the entity is parked.
        reason: Parked,
    },
    /// The entity was destroyed while the call waited (E8).
    #[error("`{key}` was destroyed while the call waited")]
    Destroyed {
        /// The key.
        key: Key,
    },
    /// The called entity waits, directly or through others, for the caller (M3).
    #[error("a call to `{}` would wait for itself; these wait for one another: {}", .chain.last().map(ToString::to_string).unwrap_or_default(), show_chain(.chain))]
    Cycle {
        /// The entities that wait for each other, in order; the refused call is the last one.
        chain: Vec<Key>,
    },
    /// The answer did not come before the deadline. A call that had begun may still take effect.
    #[error("no answer from `{key}` before the deadline; the call may still take effect")]
    Deadline {
        /// The key.
        key: Key,
    },
    /// The outcome of the call is unknown. A call with an idempotency key can be repeated safely to find out
    /// (E12).
    #[error("it is not known whether the call of `{key}` took effect; ask again with an idempotency key")]
    Unknown {
        /// The key.
        key: Key,
    },
    /// The idempotency key was used before for another action or input (E12).
    #[error("the idempotency key was used on `{key}` for another action or input")]
    IdempotencyMismatch {
        /// The key.
        key: Key,
    },
    /// A limit is reached; try again later (R8).
    #[error("overloaded: {what}; try again later")]
    Overloaded {
        /// The limit.
        what: Limit,
    },
    /// Something is larger than allowed; nothing was written (K3).
    #[error("{what}: {found} is beyond the limit of {limit}")]
    TooLarge {
        /// The limit that was exceeded.
        what: Limit,
        /// The actual size.
        found: usize,
        /// The largest allowed size.
        limit: usize,
    },
    /// This worker does not own the key's partition.
    #[error("partition {} is owned by {}", .partition.0, .owner.as_deref().unwrap_or("nobody yet"))]
    NotOwner {
        /// The key's partition.
        partition: Partition,
        /// The address of the owner, if it is known.
        owner: Option<String>,
    },
    /// The kernel is shutting down.
    #[error("the runtime is shutting down, or has ended")]
    Closing,
    /// The store cannot be written or read at the moment.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// The entity does not accept this verb in its current status: it has ended, or was stopped.
    #[error("`{verb}` is refused: `{key}` is {status}")]
    Refused {
        /// The key.
        key: Key,
        /// The verb.
        verb: String,
        /// The status, in the words of the entity's kind.
        status: String,
    },
    /// A start was given a state or arguments, but the entity has stopped or failed and keeps its own state
    /// (C2).
    #[error(
        "`{key}` is {status} and keeps its state, so `{verb}` is refused: `resume()` goes on with that state, and `replace(state)` sets another"
    )]
    KeepsState {
        /// The key.
        key: Key,
        /// The verb.
        verb: String,
        /// The status, in the words of the entity's kind.
        status: String,
    },
    /// The definition writes rows of its own, but the store has no SQL (W6).
    #[error("`{definition}` has the transactional step `{work}`, and this store has no SQL: open it over SQLite")]
    NoSql {
        /// The definition.
        definition: String,
        /// The transactional step.
        work: String,
    },
    /// The store has recorded the other choice of keys, shared or separate; nothing was changed (E2).
    #[error("{}", show_keys(.recorded))]
    OtherKeys {
        /// The recorded choice: `shared`, `separate`, or a word of a newer version.
        recorded: String,
    },
    /// The kind refused the call, for the reason in these bytes. Nothing was changed, and a later call may
    /// succeed; so the reply is not recorded (E12).
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
    /// Returns the stable code of this error.
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

    /// Returns the bytes of an error that the author's code or the kind returned; `None` for an error of the
    /// kernel.
    pub fn own(&self) -> Option<&Bytes> {
        match self {
            Self::Failed(own) | Self::Declined(own) => Some(own),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without a change by the caller.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Deadline { .. } | Self::Unknown { .. } | Self::Overloaded { .. } | Self::NotOwner { .. } => true,
            Self::Closing => true,
            Self::Store(error) => error.is_retryable(),
            _ => false,
        }
    }
}

/// A limit of the kernel (K3, R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The length of a key, in bytes.
    KeyBytes,
    /// The length of a name, in bytes.
    NameBytes,
    /// The name is empty.
    EmptyName,
    /// The size of one payload in bytes: an input, a reply, a record, a row, a message.
    PayloadBytes,
    /// The size of one commit, in bytes.
    CommitBytes,
    /// The number of row changes of one commit.
    CommitRows,
    /// The number of calls that wait for one key.
    CallsPerKey,
    /// The size of all waiting calls, in bytes.
    WaitingBytes,
    /// The number of commits that wait for the writer.
    WaitingCommits,
    /// The number of pieces of work that run.
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
