//! Deliberate bugs, one switch each, that the simulator must find: that is what shows that it can.
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
    /// State and alarm go in two commits.
    AlarmInAnotherCommit = 1,
    /// The reply is released before its commit is durable.
    ReplyBeforeCommit,
    /// The store applies a commit whatever version it finds.
    NoVersionCheck,
    /// The store applies a batch of an owner that was replaced.
    NoEpochCheck,
    /// An inbox row is deleted before the commit that takes the message.
    InboxDeletedBefore,
    /// A deadline is counted anew when another worker takes over.
    DeadlineRecomputed,
    /// The alarm is cleared before the turn that it wakes commits.
    AlarmClearedBefore,
    /// A lost wake-up is not found again by a scan.
    NoRescan,
    /// Messages of a commit that was applied although it answered with an error are sent again.
    DoubledDelivery,
    /// Work starts before the commit that calls for it is durable.
    WorkBeforeCommit,
    /// A crash is not counted.
    CrashNotCounted,
    /// A suspect is convicted by its deaths alone: it is never held back.
    NoControl,
    /// A kernel that is dropped without a shutdown counts as a crash.
    DropCounts,
    /// An owner that ends in order clears those that crashes are counted against of their places in the window.
    DoubtForgotten,
    /// The end of work that was dropped is taken.
    LateEndAccepted,
    /// Code borrows the struct while what other code left in it waits for rows.
    EndNotAwaited,
    /// A destroyed entity's versions are given out again.
    VersionReused,
    /// Of a chain that failed, the first half is kept.
    HalfAChainKept,
    /// A commit of unknown outcome is sent again without a look.
    UnknownRetriedBlindly,
    /// What the store said of a chain is taken for its word on the next, in another epoch.
    VerdictOfAnother,
    /// Rows are given to work whoever has written its entity since.
    RowsUnchecked,
    /// A script is run although it was run before.
    RunAgain,
    /// What a script wrote that failed is kept.
    FailedRowsKept,
    /// What a transaction was to send is handed over although it was rolled back.
    SentAlthoughRolledBack,
    /// What a transaction sends is handed over in memory, and is in no inbox.
    SentInMemoryAlone,
    /// What a transaction sends is forgotten.
    SendForgotten,
    /// What code had sent before it was run again is sent, too.
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
        /// All that a few thousand histories show. The others come about in one of ten thousand; the tests of the laws that
        /// they break find them.
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

        /// Those of a store with SQL: `workflow_transactions.rs` finds them there, too.
        pub const IN_SQL: [Self; 2] = [Self::RunAgain, Self::FailedRowsKept];

        pub(crate) fn planted(self) -> bool {
            PLANTED.with(Cell::get) == Some(self)
        }
    }

    /// Plants one bug in every kernel of this thread, or none.
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
