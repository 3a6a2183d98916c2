//! Deliberate bugs, one switch each. The simulator must find each of them; that proves its power to find real
//! bugs.
//!
//! Without the feature `planted` every switch is a constant `false` and costs nothing.

/// A bug that can be planted.
#[cfg_attr(
    not(feature = "planted"),
    expect(dead_code, unreachable_pub, reason = "named where they would be, and exported, only if they can be")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// State and alarm are written in two commits.
    AlarmInAnotherCommit = 1,
    /// The reply is released before its commit is durable.
    ReplyBeforeCommit,
    /// The store applies a commit without checking the version that it finds.
    NoVersionCheck,
    /// The store applies a batch of an owner that was replaced.
    NoEpochCheck,
    /// An inbox row is deleted before the commit that takes the message.
    InboxDeletedBefore,
    /// A deadline is computed again when another worker takes over.
    DeadlineRecomputed,
    /// The alarm is cleared before the turn that it triggers has committed.
    AlarmClearedBefore,
    /// A lost wake-up is not found by a later scan.
    NoRescan,
    /// Messages are sent again if their commit was applied but the store answered with an error.
    DoubledDelivery,
    /// Work starts before the commit that asks for it is durable.
    WorkBeforeCommit,
    /// A crash is not counted.
    CrashNotCounted,
    /// A suspect is convicted by its deaths alone, without ever being held back.
    NoControl,
    /// A kernel that is dropped without a shutdown counts as a crash.
    DropCounts,
    /// An orderly end of the previous owner clears the crashes that are counted against entities.
    DoubtForgotten,
    /// The end of work that was dropped is accepted.
    LateEndAccepted,
    /// Code borrows the struct although the result of earlier code, which changed it, still waits for rows.
    EndNotAwaited,
    /// Versions of a destroyed entity are given out again.
    VersionReused,
    /// The first half of a chain that failed is kept.
    HalfAChainKept,
    /// A commit with an unknown outcome is sent again without reading back.
    UnknownRetriedBlindly,
    /// The verdict on one chain is taken for the verdict on the next chain, in another epoch.
    VerdictOfAnother,
    /// Work gets the rows of its entity without a check that no other owner has written the entity since.
    RowsUnchecked,
    /// A script is run again although it was run before.
    RunAgain,
    /// Rows that a failed script wrote are kept.
    FailedRowsKept,
    /// Messages of a transaction are delivered although it was rolled back.
    SentAlthoughRolledBack,
    /// Messages of a transaction are delivered in memory, but not stored in the inbox.
    SentInMemoryAlone,
    /// Messages of a transaction are lost.
    SendForgotten,
    /// If code is run again, the messages of its earlier run are sent as well.
    SentTwice,
}

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    impl Bug {
        /// The bugs that a few thousand histories find. The remaining bugs show in one of ten thousand
        /// histories; tests of the broken laws find those.
        pub const ALL: [Self; 23] = [
            Self::AlarmInAnotherCommit,
            Self::ReplyBeforeCommit,
            Self::NoVersionCheck,
            Self::NoEpochCheck,
            Self::InboxDeletedBefore,
            Self::DeadlineRecomputed,
            Self::AlarmClearedBefore,
            Self::NoRescan,
            Self::DoubledDelivery,
            Self::WorkBeforeCommit,
            Self::CrashNotCounted,
            Self::DropCounts,
            Self::LateEndAccepted,
            Self::EndNotAwaited,
            Self::VersionReused,
            Self::HalfAChainKept,
            Self::UnknownRetriedBlindly,
            Self::RunAgain,
            Self::FailedRowsKept,
            Self::SentAlthoughRolledBack,
            Self::SentInMemoryAlone,
            Self::SendForgotten,
            Self::SentTwice,
        ];

        /// The bugs of a store with SQL. `workflow_transactions.rs` finds these bugs over SQL as well.
        pub const IN_SQL: [Self; 2] = [Self::RunAgain, Self::FailedRowsKept];

        pub(crate) fn planted(self) -> bool {
            PLANTED.with(Cell::get) == Some(self)
        }
    }

    /// Plants a bug in every kernel of the current thread. `None` removes the planted bug.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.with(|planted| planted.set(bug));
    }
}

#[cfg(feature = "planted")]
pub use switch::plant;

#[cfg(not(feature = "planted"))]
impl Bug {
    pub(crate) const fn planted(self) -> bool {
        false
    }
}
