//! Deliberate bugs of kinds, one switch each, that the simulator must find: that is what shows that it can.
//!
//! Without the feature `planted` every switch is a constant `false` and costs nothing.

/// A bug that can be planted.
#[cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "exported only if they can be planted"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// The items of a batch go with its first failure, before it was flushed.
    ItemsDroppedBefore = 1,
    /// A full batch is closed in another commit than the one that fills it.
    ClosedInAnotherCommit,
    /// An item is acknowledged and counted before it is a row.
    AcknowledgedBefore,
    /// A batch has another id when it is tried again.
    BatchRenamed,
    /// A batch that waits to be tried again lets others pass, in strict order, too.
    OrderForgotten,
    /// A batch that is given up goes, and nobody keeps it.
    NoDeadLetter,
    /// The batch in flight is cleared with the others.
    FlightCleared,
    /// A batch that is replayed is let go before it is flushed.
    ReleasedBefore,
    /// A stop forgets the tick in flight.
    TickForgotten,
    /// A trigger during a tick is forgotten.
    TriggerLost,
    /// The next tick is counted from the end of the last one, and the grid moves.
    GridMoved,
    /// A success does not end the count of failures.
    FailuresKept,
    /// A value is applied again.
    AppliedTwice,
    /// An item that was processed stays in its lane.
    ItemKept,
    /// An item that is given up goes, and nobody keeps it.
    ItemBuried,
    /// An item that failed lets others pass, in strict order, too.
    QueueOrderForgotten,
    /// An item that is tried again has the number of its last execution.
    AttemptsForgotten,
    /// A queue takes more than its depth.
    DepthForgotten,
    /// A dedup key enqueues again within its window.
    WindowForgotten,
    /// Of the times that are made up for, every other one is forgotten.
    #[cfg_attr(not(feature = "cron"), allow(dead_code, reason = "of a feature that is off"))]
    BackfillForgets,
    /// The times after a retry are counted from it.
    RetryShifts,
    /// A permit that has ended is not taken back.
    ExpiredKept,
    /// A permit is given if one of weight 1 would fit.
    WeightForgotten,
    /// Who asks without waiting overtakes those who wait.
    Barging,
    /// A release of a permit that has ended frees another's.
    LateRelease,
    /// Who left keeps its place, and what it was given.
    GoneIgnored,
    /// An item whose delay is over joins the line, and stays where it was.
    JoinedTwice,
    /// The first of those that are read from a long line is passed over.
    PassedOver,
    /// An item that failed is tried again before its pause is over.
    RetriedEarly,
    /// An item that failed is tried again although its queue is paused.
    PauseForgotten,
    /// One item more than its concurrency is processed at once.
    ConcurrencyForgotten,
    /// Items that are delayed are not waited for by `drain`.
    DrainedEarly,
    /// An item has another id when it is tried again.
    ItemRenamed,
    /// Of the entries of a journal every third is not written.
    EntryForgotten,
    /// An event that a wait has taken stays queued.
    EventStays,
    /// The end of a step that was let go is recorded.
    LateStepRevives,
    /// An event that is waited for leaves its queue in one commit and is recorded in the next.
    TakenBeforeRecorded,
    /// A wait that timed out swallows the next event.
    TimeoutSwallows,
    /// A replay tells two things that were outstanding together in the other order.
    WinnerRedecided,
    /// What branches ask for is numbered as it comes, whichever branch it is.
    OrdinalIds,
    /// In a replay what is recorded is ready when it is first polled.
    ReadyAtFirstPoll,
    /// A cancel is answered, and forgotten if a step runs.
    CancelForgotten,
    /// A sleep is over a little early.
    WokenEarly,
    /// Events that nobody took are gone with their run.
    UnreadForgotten,
    /// What lost a race stays asked for.
    LosersKept,
    /// Of queued events the newest is taken first.
    NewestFirst,
    /// What a body changes of its state is not stored.
    StateForgotten,
    /// A run that has ended takes events in.
    EndedTakesEvents,
    /// A wait with a key takes events with another.
    KeyIgnored,
    /// A cancel does not wait for the steps that run.
    RunningDropped,
    /// A step that is tried again has the number of its last execution.
    AttemptsKept,
    /// A replay counts the deadlines of what is outstanding anew.
    DeadlineMoved,
    /// A step of which nobody knows what became is not undone.
    UnknownNotUndone,
    /// Steps are undone in the order in which they were done.
    UndoneForward,
    /// A step that was undone is undone again by a process that did not see it.
    UndoneAgain,
    /// A replay applies an update twice.
    UpdateTwice,
    /// A replay forgets the updates.
    UpdateLost,
    /// A call of another entity has no idempotency key: after a crash it is done again.
    CallRepeated,
    /// A child that its parent lets go is not told.
    OrphansGoOn,
    /// The end of a child is told in a commit of its own, and lost in a crash.
    ChildEndForgotten,
    /// The end of a child is taken for one of another run of the same parent.
    ChildOfAnother,
    /// A run that has ended keeps its permits.
    PermitKept,
    /// Events that nobody took are gone with the generation of their run.
    EventLostAtContinue,
    /// The end of a step of an older generation is taken for that of this one.
    LateGenerationTaken,
    /// What is due while a run is paused happens.
    PausedTimerFires,
    /// A run that begins anew goes on waiting for what it waited for.
    RestartKeepsWaits,
    /// Who got an event of a topic keeps its place, and gets the next.
    WatcherStays,
    /// An event for one stays pending when it is given, and goes to the next, too.
    GivenTwice,
    /// Who begins to wait is told of the event before.
    WatchedFromStart,
    /// A wait whose time is up does not ask its topic whether something was published before.
    DeadlineFirst,
    /// An event for one that comes back is gone.
    DeclinedLost,
    /// An event for one that nobody took in time is gone, and nobody keeps it.
    ExpiredForgotten,
    /// A wait that is over does not leave its topic.
    WatcherForgotten,
    /// Two waits of a run are told of the same event.
    SeenTwice,
    /// A pass through those who wait ends with its first slice.
    PassForgotten,
    /// Of events for one the newest is given first.
    NewestPublishedFirst,
    /// An event goes to waits whose time was up when it was published.
    LateForWait,
    /// A child ends in one commit, and its parent is told by the next.
    ChildEndLater,
    /// The row of a transactional step outlives it.
    ClaimKept,
    /// An event that was queued for too long is gone, and nobody counts it.
    ExpiredUncounted,
    /// What a topic delivers is as old for a run as it is for the topic: it may be gone as it comes.
    ExpiredOnArrival,
    /// Events that are discarded with their run are not counted.
    DiscardedUncounted,
    /// An event that leaves a full log is not counted.
    TrimmedUncounted,
    /// Who reads from when its run began is told of the event before that, too.
    ReadFromBefore,
    /// An event for one that goes back stays with the run that it came to.
    DeclinedAndKept,
    /// What a run did not take is published on the topic of another key.
    PublishedAstray,
    /// Who comes to wait while others are told is forgotten.
    CameUnseen,
}

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    impl Bug {
        /// All of them.
        pub const ALL: [Self; 87] = [
            Self::ItemsDroppedBefore,
            Self::ClosedInAnotherCommit,
            Self::AcknowledgedBefore,
            Self::BatchRenamed,
            Self::OrderForgotten,
            Self::NoDeadLetter,
            Self::FlightCleared,
            Self::ReleasedBefore,
            Self::TickForgotten,
            Self::TriggerLost,
            Self::GridMoved,
            Self::FailuresKept,
            Self::AppliedTwice,
            Self::ItemKept,
            Self::ItemBuried,
            Self::QueueOrderForgotten,
            Self::AttemptsForgotten,
            Self::DepthForgotten,
            Self::WindowForgotten,
            Self::BackfillForgets,
            Self::RetryShifts,
            Self::ExpiredKept,
            Self::WeightForgotten,
            Self::Barging,
            Self::LateRelease,
            Self::GoneIgnored,
            Self::JoinedTwice,
            Self::PassedOver,
            Self::RetriedEarly,
            Self::PauseForgotten,
            Self::ConcurrencyForgotten,
            Self::DrainedEarly,
            Self::ItemRenamed,
            Self::EntryForgotten,
            Self::EventStays,
            Self::LateStepRevives,
            Self::TakenBeforeRecorded,
            Self::TimeoutSwallows,
            Self::WinnerRedecided,
            Self::OrdinalIds,
            Self::ReadyAtFirstPoll,
            Self::CancelForgotten,
            Self::WokenEarly,
            Self::UnreadForgotten,
            Self::LosersKept,
            Self::NewestFirst,
            Self::StateForgotten,
            Self::EndedTakesEvents,
            Self::KeyIgnored,
            Self::RunningDropped,
            Self::AttemptsKept,
            Self::DeadlineMoved,
            Self::UnknownNotUndone,
            Self::UndoneForward,
            Self::UndoneAgain,
            Self::UpdateTwice,
            Self::UpdateLost,
            Self::CallRepeated,
            Self::OrphansGoOn,
            Self::ChildEndForgotten,
            Self::ChildOfAnother,
            Self::PermitKept,
            Self::EventLostAtContinue,
            Self::LateGenerationTaken,
            Self::PausedTimerFires,
            Self::RestartKeepsWaits,
            Self::WatcherStays,
            Self::GivenTwice,
            Self::WatchedFromStart,
            Self::DeadlineFirst,
            Self::DeclinedLost,
            Self::ExpiredForgotten,
            Self::WatcherForgotten,
            Self::SeenTwice,
            Self::PassForgotten,
            Self::NewestPublishedFirst,
            Self::LateForWait,
            Self::ChildEndLater,
            Self::ClaimKept,
            Self::ExpiredUncounted,
            Self::ExpiredOnArrival,
            Self::DiscardedUncounted,
            Self::TrimmedUncounted,
            Self::ReadFromBefore,
            Self::DeclinedAndKept,
            Self::PublishedAstray,
            Self::CameUnseen,
        ];

        pub(crate) fn planted(self) -> bool {
            PLANTED.with(Cell::get) == Some(self)
        }
    }

    /// Plants one bug in every primitive of this thread, or none.
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
