//! Deliberate bugs of kinds and workflows, one switch each. The simulator must find every bug, which
//! proves the simulator.
//!
//! Without the feature `planted` every switch is a constant `false` and costs nothing.

/// A bug that can be planted.
#[cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "exported only if they can be planted"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// The items of a batch are deleted at its first failure, before the batch was flushed.
    ItemsDroppedBefore = 1,
    /// A full batch is closed in a later commit than the one that fills it.
    ClosedInAnotherCommit,
    /// An item is acknowledged and counted without a row, unless it is the first of its batch.
    AcknowledgedBefore,
    /// A batch gets another id when it is retried.
    BatchRenamed,
    /// A batch that waits for a retry lets others pass, even with `strict_order`.
    OrderForgotten,
    /// A batch that is given up is deleted instead of becoming a dead letter.
    NoDeadLetter,
    /// `clear` also removes the batch in flight.
    FlightCleared,
    /// The held lane of a replayed batch is released before the batch is flushed.
    ReleasedBefore,
    /// `stop` forgets the tick in flight.
    TickForgotten,
    /// A trigger during a tick is lost.
    TriggerLost,
    /// The next tick is counted from the end of the last one, so the grid moves.
    GridMoved,
    /// A success does not reset the count of failures.
    FailuresKept,
    /// A value is applied a second time.
    AppliedTwice,
    /// A processed item stays in its lane.
    ItemKept,
    /// An item that is given up is deleted instead of becoming a dead letter.
    ItemBuried,
    /// A failed item lets others pass, even with `strict_order`.
    QueueOrderForgotten,
    /// A retried item gets the attempt number of its last execution.
    AttemptsForgotten,
    /// A queue takes more items than `max_depth`.
    DepthForgotten,
    /// A dedup key enqueues again within its window.
    WindowForgotten,
    /// A backfill forgets every other missed time.
    #[cfg_attr(not(feature = "cron"), allow(dead_code, reason = "of a feature that is off"))]
    BackfillForgets,
    /// The times after a retry are counted from the retry.
    RetryShifts,
    /// A permit that has ended is not taken back.
    ExpiredKept,
    /// A permit is given if one of weight 1 would fit.
    WeightForgotten,
    /// A caller of `try_acquire` overtakes those who wait in line.
    Barging,
    /// The release of a permit that has ended frees another holder's permit.
    LateRelease,
    /// A caller that left keeps the place in line and the permit.
    GoneIgnored,
    /// An item whose delay is over joins the line, but also stays among the delayed items.
    JoinedTwice,
    /// The first item that is read from a long line is skipped.
    PassedOver,
    /// A failed item is retried before its pause is over.
    RetriedEarly,
    /// A failed item is retried although its queue is paused.
    PauseForgotten,
    /// One item more than `concurrency` is processed at once.
    ConcurrencyForgotten,
    /// `drain` does not wait for delayed items.
    DrainedEarly,
    /// An item gets another id when it is retried.
    ItemRenamed,
    /// Every third entry of a journal is not written.
    EntryForgotten,
    /// An event that a wait has taken stays queued.
    EventStays,
    /// The end of a step that was released is recorded.
    LateStepRevives,
    /// An awaited event leaves its queue in one commit and is recorded in the next.
    TakenBeforeRecorded,
    /// A wait that timed out swallows the next event.
    TimeoutSwallows,
    /// A replay delivers two outcomes that were pending together in the other order.
    WinnerRedecided,
    /// Operations are numbered in the order in which they are asked for, whatever their branch.
    OrdinalIds,
    /// In a replay a recorded operation is ready at its first poll.
    ReadyAtFirstPoll,
    /// A cancel is answered, but forgotten if a step runs.
    CancelForgotten,
    /// A sleep ends a little early.
    WokenEarly,
    /// Unread events are deleted with their run.
    UnreadForgotten,
    /// Operations that lost a race stay pending.
    LosersKept,
    /// The newest queued event is taken first.
    NewestFirst,
    /// Changes that a body makes to its state are not stored.
    StateForgotten,
    /// A run that has ended accepts events.
    EndedTakesEvents,
    /// A wait with a key takes events with another key.
    KeyIgnored,
    /// A cancel does not wait for running steps.
    RunningDropped,
    /// A retried step gets the attempt number of its last execution.
    AttemptsKept,
    /// A replay counts the deadlines of pending operations anew.
    DeadlineMoved,
    /// A step with an unknown outcome is not undone.
    UnknownNotUndone,
    /// Steps are undone in the order in which they ran.
    UndoneForward,
    /// A step that was undone is undone again by a process that did not see the undo.
    UndoneAgain,
    /// A replay applies an update twice.
    UpdateTwice,
    /// A replay forgets the updates.
    UpdateLost,
    /// A call of another entity has no idempotency key, so it is executed again after a crash.
    CallRepeated,
    /// A child that its parent releases is not cancelled.
    OrphansGoOn,
    /// Some children end without notifying the parent.
    ChildEndForgotten,
    /// The end of a child is taken even if another run or generation of its parent began the child.
    ChildOfAnother,
    /// A run keeps its permits after its end.
    PermitKept,
    /// Unread events are deleted with the generation of their run.
    EventLostAtContinue,
    /// The end of a step of an older generation is taken for that of the present one.
    LateGenerationTaken,
    /// Timers fire while a run is paused.
    PausedTimerFires,
    /// A restarted run keeps the waits of its old generation.
    RestartKeepsWaits,
    /// A watcher that got an event of a topic keeps its place and gets the next event, too.
    WatcherStays,
    /// An event for one stays pending when it is given, and goes to the next watcher, too.
    GivenTwice,
    /// A new watcher gets the event that was published before it came.
    WatchedFromStart,
    /// A wait whose deadline has passed does not ask its topic for an event that was published before the
    /// deadline.
    DeadlineFirst,
    /// An event for one that comes back is lost.
    DeclinedLost,
    /// An event for one that expires is deleted instead of becoming a dead letter.
    ExpiredForgotten,
    /// A wait that is over does not leave its topic.
    WatcherForgotten,
    /// Two waits of a run get the same event.
    SeenTwice,
    /// A pass through the watchers ends with its first slice.
    PassForgotten,
    /// The newest event for one is given first.
    NewestPublishedFirst,
    /// An event goes to waits whose deadline had passed when the event was published.
    LateForWait,
    /// A child ends in one commit, and its parent is notified by the next.
    ChildEndLater,
    /// The row of a transactional step outlives the step.
    ClaimKept,
    /// An event that expires in the queue of a run is not counted.
    ExpiredUncounted,
    /// An event delivered by a topic keeps its age and may expire on arrival.
    ExpiredOnArrival,
    /// Events that are discarded with their run are not counted.
    DiscardedUncounted,
    /// An event that leaves a full log is not counted.
    TrimmedUncounted,
    /// A watcher with `from = "created"` gets events from before its run began, too.
    ReadFromBefore,
    /// An event for one goes back to the topic, but also stays with the run.
    DeclinedAndKept,
    /// An unread event is published on the topic of another key.
    PublishedAstray,
    /// A watcher that comes while others are being notified is forgotten.
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

    /// Plants a bug in all primitives of this thread, or removes the planted bug.
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
