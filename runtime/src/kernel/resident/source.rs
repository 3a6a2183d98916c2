//! The source of a turn's input, kept whole, so that the turn can be taken again.

use crate::{
    Cause, Input, Mark, MessageId, Millis, Outcome, Ticket, Work,
    kernel::{api::pending_call::Pending, state::shared::Shared},
    store::Letter,
};

/// The input that a turn handles. It is kept with the turn's commit until the commit is durable.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most sources are calls; boxing ends would box them twice")]
pub(crate) enum Source {
    /// A call, whose caller waits.
    Call(Pending),
    /// A message, whose row is still in the inbox.
    Message(Letter),
    /// The alarm.
    Alarm(Millis),
    /// The end of a piece of work, with the call or message that ran it, if any.
    End(End),
    /// A caller left while it was held, or before it got its answer.
    Gone(Ticket),
    /// The definition differs from the one the entity last ran with.
    Changed,
    /// A change by the kernel itself: a count of crashes, a parking, a retry.
    Kernel,
}

/// The end of a piece of work.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) work: Work,
    pub(crate) outcome: Outcome,
    pub(crate) origin: Origin,
    /// How often the turn of this end has failed.
    pub(crate) attempts: u32,
}

/// The reason why a piece of work runs, kept whole.
#[derive(Debug)]
pub(crate) enum Origin {
    /// The work was listed.
    Listed,
    /// A call runs it.
    Call(Pending),
    /// A message runs it.
    Message(Letter),
    /// A read runs it, on a snapshot.
    Read(Pending),
}

impl Origin {
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Listed => Cause::Listed,
            Self::Call(pending) | Self::Read(pending) => Cause::Call(pending.ticket),
            Self::Message(letter) => Cause::Message(letter.id),
        }
    }
}

impl Source {
    pub(crate) fn input(&self) -> Input {
        match self {
            Self::Call(pending) => pending.input(),
            Self::Message(letter) => Input::Message {
                from: letter.from.clone(),
                id: letter.id,
                verb: letter.verb.clone(),
                body: letter.body.clone(),
            },
            Self::Alarm(at) => Input::Alarm { at: *at },
            Self::End(end) => Input::Done {
                work: end.work.id.clone(),
                attempt: end.work.attempt,
                cause: end.origin.cause(),
                outcome: end.outcome.clone(),
            },
            Self::Gone(ticket) => Input::Gone { ticket: *ticket },
            Self::Changed | Self::Kernel => Input::Changed,
        }
    }

    /// Returns the mark for the code that this source starts. A message has the mark of the commit that
    /// sent it, even if that was in another opening.
    pub(crate) fn mark(&self, at: &Shared) -> Option<Mark> {
        match self {
            Self::Message(letter) => letter.mark,
            _ => Some(at.now().mark),
        }
    }

    /// Returns the call that waits for the turn's answer.
    pub(crate) fn pending(&self) -> Option<&Pending> {
        match self {
            Self::Call(pending) => Some(pending),
            Self::End(End { origin: Origin::Call(pending), .. }) => Some(pending),
            _ => None,
        }
    }

    pub(crate) fn into_pending(self) -> Option<Pending> {
        match self {
            Self::Call(pending) => Some(pending),
            Self::End(End { origin: Origin::Call(pending), .. }) => Some(pending),
            _ => None,
        }
    }
    /// Returns the message that the turn takes.
    pub(crate) fn message(&self) -> Option<MessageId> {
        match self {
            Self::Message(letter) => Some(letter.id),
            Self::End(End { origin: Origin::Message(letter), .. }) => Some(letter.id),
            _ => None,
        }
    }
}
