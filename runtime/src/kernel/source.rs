//! Where a turn's input came from, whole, so that the turn can be taken again.

use super::shared::Shared;
use crate::{Cause, Input, Mark, MessageId, Millis, Outcome, Ticket, Work, kernel::pending::Pending, store::Letter};

/// What a turn answers to. It is kept with the turn's commit until that is durable.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most sources are calls; boxing ends would box them twice")]
pub(crate) enum Source {
    /// A call; its caller waits.
    Call(Pending),
    /// A message; its row is still in the inbox.
    Letter(Letter),
    /// The alarm.
    Alarm(Millis),
    /// The end of a piece of work, and the call or message that ran it, if one did.
    End(End),
    /// A caller who was held has left.
    Gone(Ticket),
    /// The definition differs from the one the entity last ran with.
    Changed,
    /// The kernel's own doing: a count of crashes, a parking, a retry.
    Kernel,
}

/// The end of a piece of work.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) work: Work,
    pub(crate) outcome: Outcome,
    pub(crate) origin: Origin,
    /// How often its turn failed.
    pub(crate) attempts: u32,
}

/// What called for a piece of work, whole.
#[derive(Debug)]
pub(crate) enum Origin {
    /// It was listed.
    Listed,
    /// This call runs it.
    Call(Pending),
    /// This message runs it.
    Letter(Letter),
    /// This read runs it, on a snapshot.
    Read(Pending),
}

impl Origin {
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Listed => Cause::Listed,
            Self::Call(pending) | Self::Read(pending) => Cause::Call(pending.ticket),
            Self::Letter(letter) => Cause::Message(letter.id),
        }
    }
}

impl Source {
    pub(crate) fn input(&self) -> Input {
        match self {
            Self::Call(pending) => pending.input(),
            Self::Letter(letter) => Input::Message {
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

    /// The mark of the code that it asks for: a message has that of the commit which sent it, also in another opening.
    pub(crate) fn mark(&self, at: &Shared) -> Option<Mark> {
        match self {
            Self::Letter(letter) => letter.mark,
            _ => Some(at.now().mark),
        }
    }

    /// The call that waits for this turn's answer.
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
    /// The message that this turn takes.
    pub(crate) fn message(&self) -> Option<MessageId> {
        match self {
            Self::Letter(letter) => Some(letter.id),
            Self::End(End { origin: Origin::Letter(letter), .. }) => Some(letter.id),
            _ => None,
        }
    }
}
