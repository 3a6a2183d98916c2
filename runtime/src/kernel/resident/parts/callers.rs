//! Callers that wait for an answer which a later commit gives, and callers of `explain`.

use crate::{
    Name, Ticket, To,
    kernel::{api::pending_call::Pending, state::mail::Asker},
};

/// Callers that a kind holds under a name, and persons who asked what the key waits for.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    held: Vec<(Name, Pending)>,
    askers: Vec<Asker>,
}

impl Callers {
    /// Holds a caller under a name until a commit answers it.
    pub(crate) fn hold(&mut self, name: Name, pending: Pending) {
        self.held.push((name, pending));
    }

    pub(crate) fn holds(&self, ticket: Ticket) -> bool {
        self.held.iter().any(|(_, pending)| pending.ticket == ticket)
    }

    pub(crate) fn held(&self) -> impl ExactSizeIterator<Item = (&Name, &Pending)> {
        self.held.iter().map(|(name, pending)| (name, pending))
    }

    pub(crate) fn holds_none(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes out the held callers that an answer is for.
    pub(crate) fn take_answered(&mut self, to: &To) -> Vec<Pending> {
        let is_meant = |(name, pending): &mut (Name, Pending)| match to {
            To::Ticket(ticket) => pending.ticket == *ticket,
            To::All(all) => name == all,
        };
        self.held.extract_if(.., is_meant).map(|(_, pending)| pending).collect()
    }

    /// Forgets a held caller that left: the kind knows of that and will not answer the call. A caller with
    /// an idempotency key is kept, because it may come back for its answer.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        self.held.retain(|(_, pending)| pending.ticket != ticket || pending.once.is_some());
    }

    /// Takes out all held callers.
    pub(crate) fn take_held(&mut self) -> impl Iterator<Item = Pending> {
        self.held.drain(..).map(|(_, pending)| pending)
    }

    /// Notes a caller of `explain`.
    pub(crate) fn ask(&mut self, asker: Asker) {
        self.askers.push(asker);
    }

    pub(crate) fn asks_for_nothing(&self) -> bool {
        self.askers.is_empty()
    }

    /// Answers the callers of `explain`.
    pub(crate) fn take_askers(&mut self) -> Vec<Asker> {
        std::mem::take(&mut self.askers)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{call, call_once, ticket},
        *,
    };

    fn numbers(callers: &[Pending]) -> Vec<u64> {
        callers.iter().map(|pending| pending.ticket.number).collect()
    }

    #[test]
    fn an_answer_goes_to_one_caller_or_to_all_of_a_name() {
        let mut callers = Callers::default();
        (1..=3).for_each(|number| callers.hold("line".into(), call(number)));
        callers.hold("other".into(), call(4));
        assert!(callers.holds(ticket(2)));
        assert_eq!(numbers(&callers.take_answered(&To::Ticket(ticket(2)))), [2]);
        assert_eq!(numbers(&callers.take_answered(&To::All("line".into()))), [1, 3]);
        assert_eq!(callers.held().len(), 1);
        assert!(!callers.holds(ticket(2)));
    }

    /// E12
    #[test]
    fn a_caller_with_an_idempotency_key_is_held_after_it_left() {
        let mut callers = Callers::default();
        callers.hold("line".into(), call(1));
        callers.hold("line".into(), call_once(2, "x"));
        callers.forget(ticket(1));
        callers.forget(ticket(2));
        assert_eq!(numbers(&callers.take_held().collect::<Vec<_>>()), [2]);
        assert!(callers.holds_none());
    }
}
