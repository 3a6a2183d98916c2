//! Inputs without a caller that wait for a turn: ends of work, the alarm, callers that left, and turns that
//! are taken again later.

use std::{collections::VecDeque, time::Duration};

use super::super::source::{End, Source};
use crate::{Borrow, Millis, Ticket, Work, kernel::util::sparse::Sparse};

/// All inputs but calls and messages, which wait in the [`Queue`](super::queue::Queue).
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Ends of work that wait for a turn.
    ends: VecDeque<End>,
    alarm_is_due: bool,
    /// Callers that left: each is an input of its own.
    gone: VecDeque<Ticket>,
    /// Inputs whose turn failed, each with the time of its next try.
    later: Vec<(Duration, Source)>,
    /// How many turns without a caller failed in a row.
    failures: u32,
}

impl Inputs {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty() && !self.alarm_is_due && self.gone.is_empty() && self.later.is_empty()
    }

    pub(crate) fn add_end(&mut self, end: End) {
        self.ends.add(end);
    }

    /// Returns an end that was taken, to be handled next.
    pub(crate) fn put_end_first(&mut self, end: End) {
        self.ends.push_front(end);
    }

    pub(crate) fn has_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = &End> {
        self.ends.iter()
    }

    pub(crate) fn next_end(&mut self) -> Option<End> {
        self.ends.pop_front()
    }

    pub(crate) fn take_ends(&mut self) -> VecDeque<End> {
        std::mem::take(&mut self.ends)
    }

    /// Returns the ends of listed work that are to be handled, now or later, each with its work.
    pub(crate) fn all_ends(&self) -> impl Iterator<Item = &End> {
        let later = self.later.iter().filter_map(|(_, source)| match source {
            Source::End(end) => Some(end),
            _ => None,
        });
        self.ends.iter().chain(later)
    }

    /// Whether the end of work that borrowed the struct is to be handled, now or later.
    pub(crate) fn has_exclusive_end(&self) -> bool {
        let is_exclusive = |work: &Work| work.borrow == Borrow::Exclusive;
        self.all_ends().any(|end| is_exclusive(&end.work))
    }

    pub(crate) fn ring(&mut self) {
        self.alarm_is_due = true;
    }

    pub(crate) fn has_rung(&self) -> bool {
        self.alarm_is_due
    }

    /// Takes the ring of the alarm. A turn of the alarm that failed takes its place until that turn is
    /// tried again.
    pub(crate) fn take_ring(&mut self) -> bool {
        let has_rung = std::mem::take(&mut self.alarm_is_due);
        has_rung && !self.later.iter().any(|(_, source)| matches!(source, Source::Alarm(_)))
    }

    pub(crate) fn caller_left(&mut self, ticket: Ticket) {
        self.gone.push_back(ticket);
    }

    /// Returns the note of a caller that left, to be handled next.
    pub(crate) fn put_gone_first(&mut self, ticket: Ticket) {
        self.gone.push_front(ticket);
    }

    pub(crate) fn next_gone(&mut self) -> Option<Ticket> {
        self.gone.pop_front()
    }

    /// Counts a failed turn; returns how often its input has failed. Each end of work has a count of its own;
    /// all other inputs share one.
    pub(crate) fn count_failure(&mut self, source: &mut Source) -> u32 {
        let failures = match source {
            Source::End(end) => &mut end.attempts,
            _ => &mut self.failures,
        };
        *failures += 1;
        *failures
    }

    pub(crate) fn reset_failures(&mut self) {
        self.failures = 0;
    }

    /// Keeps an input whose turn failed until it is tried again.
    pub(crate) fn retry_at(&mut self, when: Duration, source: Source) {
        self.later.push((when, source));
    }

    /// Whether the change of the definition waits for its next try.
    pub(crate) fn retries_change(&self) -> bool {
        self.later.iter().any(|(_, source)| matches!(source, Source::Changed))
    }

    /// Takes an input whose next try is due. An alarm that was cleared or moved since its turn failed is
    /// not tried again (A7).
    pub(crate) fn due_again(
        &mut self,
        now: impl FnOnce() -> Duration,
        alarm: impl FnOnce() -> Option<Millis>,
    ) -> Option<Source> {
        if self.later.is_empty() {
            return None;
        }
        let (now, alarm) = (now(), alarm());
        self.later.retain(|(_, source)| !matches!(source, Source::Alarm(at) if Some(*at) != alarm));
        let index = self.later.iter().position(|(when, _)| *when <= now)?;
        Some(self.later.swap_remove(index).1)
    }

    /// Forgets callers that left and turns that failed: the entity has ended.
    pub(crate) fn entity_ended(&mut self) {
        self.gone.clear();
        self.later.clear();
    }

    /// Forgets turns that failed; returns the ends of work, which may hold values of the author's.
    pub(crate) fn forget(&mut self) -> VecDeque<End> {
        self.later.clear();
        self.take_ends()
    }

    /// Frees the buffer of an empty queue.
    pub(crate) fn slim(&mut self) {
        if self.ends.is_empty() {
            self.ends = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{end, seconds, ticket, work},
        *,
    };

    /// A7
    #[test]
    fn a_failed_alarm_is_tried_again_unless_it_was_moved() {
        let mut inputs = Inputs::default();
        inputs.retry_at(seconds(2), Source::Alarm(Millis(7)));
        assert!(inputs.due_again(|| seconds(1), || Some(Millis(7))).is_none());
        assert!(matches!(inputs.due_again(|| seconds(2), || Some(Millis(7))), Some(Source::Alarm(Millis(7)))));
        inputs.retry_at(seconds(2), Source::Alarm(Millis(7)));
        assert!(inputs.due_again(|| seconds(2), || Some(Millis(8))).is_none());
        assert!(inputs.is_empty());
    }

    #[test]
    fn a_failed_alarm_does_not_ring_twice() {
        let mut inputs = Inputs::default();
        inputs.retry_at(seconds(2), Source::Alarm(Millis(7)));
        inputs.ring();
        assert!(!inputs.take_ring() && !inputs.has_rung());
        inputs.entity_ended();
        inputs.ring();
        assert!(inputs.take_ring());
    }

    #[test]
    fn ends_are_counted_one_by_one() {
        let mut inputs = Inputs::default();
        let mut first = Source::End(end(work("a", Borrow::None)));
        let mut second = Source::End(end(work("b", Borrow::None)));
        assert_eq!([inputs.count_failure(&mut first), inputs.count_failure(&mut first)], [1, 2]);
        assert_eq!(inputs.count_failure(&mut second), 1);
        let mut gone = Source::Gone(ticket(1));
        assert_eq!([inputs.count_failure(&mut gone), inputs.count_failure(&mut Source::Changed)], [1, 2]);
        inputs.reset_failures();
        assert_eq!(inputs.count_failure(&mut gone), 1);
    }

    /// E3
    #[test]
    fn the_struct_is_lent_until_the_end_of_its_work_was_taken() {
        let mut inputs = Inputs::default();
        inputs.add_end(end(work("a", Borrow::None)));
        assert!(!inputs.has_exclusive_end());
        inputs.retry_at(seconds(1), Source::End(end(work("b", Borrow::Exclusive))));
        assert!(inputs.has_exclusive_end());
        assert_eq!(inputs.all_ends().count(), 2);
    }

    #[test]
    fn an_end_that_is_put_back_comes_first() {
        let mut inputs = Inputs::default();
        inputs.add_end(end(work("a", Borrow::None)));
        inputs.put_end_first(end(work("b", Borrow::None)));
        assert_eq!(inputs.next_end().unwrap().work.id.as_str(), "b");
        inputs.caller_left(ticket(1));
        inputs.put_gone_first(ticket(2));
        assert_eq!(inputs.next_gone(), Some(ticket(2)));
    }
}
