//! Calls and messages that wait for a turn, in order of arrival, and calls that only read.

use std::collections::VecDeque;

use super::super::source::Source;
use crate::{
    Borrow, Key, MessageId,
    kernel::{api::pending_call::Pending, util::sparse::Sparse},
    store::{Letter, Once},
};

/// The most messages that are queued in memory; all others wait in the inbox.
const MESSAGES_MAX: usize = 256;

/// The queue holds calls and messages only; all other inputs are in [`Inputs`](super::inputs::Inputs).
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Source>,
    /// Calls that only read; they do not wait for turns.
    reads: VecDeque<Pending>,
}

impl Queue {
    /// Adds a call at the end.
    pub(crate) fn add_call(&mut self, pending: Pending) {
        if pending.borrow == Borrow::Shared {
            self.reads.add(pending);
        } else {
            self.waiting.add(Source::Call(pending));
        }
    }

    /// Adds a read at the end of the calls: it needs rows, and rows are read for turns only.
    pub(crate) fn add_read_as_call(&mut self, pending: Pending) {
        self.waiting.push_back(Source::Call(pending));
    }

    /// Adds a message that became durable a moment ago.
    pub(crate) fn add_message(&mut self, letter: Letter) {
        self.waiting.add(Source::Message(letter));
    }

    /// Adds a message of the inbox. It goes before later messages of its sender, and before the calls that
    /// wait here, because it was in the inbox when they were made.
    pub(crate) fn insert_message(&mut self, letter: Letter) {
        let is_later = |source: &Source| matches!(source, Source::Message(other) if other.from == letter.from && other.id > letter.id);
        let after_messages = self.waiting.iter().rposition(|source| matches!(source, Source::Message(_)));
        let place = self.waiting.iter().position(is_later).or(after_messages.map(|last| last + 1)).unwrap_or(0);
        self.waiting.insert(place, Source::Message(letter));
    }

    /// Returns a call or message to the front.
    pub(crate) fn put_first(&mut self, source: Source) {
        debug_assert!(matches!(source, Source::Call(_) | Source::Message(_)), "only calls and messages wait here");
        self.waiting.push_front(source);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn has_reads(&self) -> bool {
        !self.reads.is_empty()
    }

    /// The call or message at a place, in order of arrival.
    pub(crate) fn get(&self, place: usize) -> Option<&Source> {
        self.waiting.get(place)
    }

    /// Takes out the call or message at a place.
    pub(crate) fn remove(&mut self, place: usize) -> Option<Source> {
        self.waiting.remove(place)
    }

    /// Takes the next call that only reads.
    pub(crate) fn next_read(&mut self) -> Option<Pending> {
        self.reads.pop_front()
    }

    pub(crate) fn messages(&self) -> impl Iterator<Item = &Letter> {
        self.waiting.iter().filter_map(|source| match source {
            Source::Message(letter) => Some(letter),
            _ => None,
        })
    }

    /// Returns the queued messages, to change how often they were tried.
    pub(crate) fn messages_mut(&mut self) -> impl Iterator<Item = &mut Letter> {
        self.waiting.iter_mut().filter_map(|source| match source {
            Source::Message(letter) => Some(letter),
            _ => None,
        })
    }

    pub(crate) fn has_messages(&self) -> bool {
        self.messages().next().is_some()
    }

    pub(crate) fn message_count(&self) -> usize {
        self.messages().count()
    }

    pub(crate) fn has_room_for_messages(&self) -> bool {
        self.message_count() < MESSAGES_MAX
    }

    pub(crate) fn has_message(&self, id: MessageId) -> bool {
        self.messages().any(|letter| letter.id == id)
    }

    /// Takes out the messages that `is_wanted`, in their order.
    pub(crate) fn take_messages(&mut self, mut is_wanted: impl FnMut(&Letter) -> bool) -> Vec<Letter> {
        let letter = |source: &Source| matches!(source, Source::Message(letter) if is_wanted(letter));
        let taken = take_if(&mut self.waiting, letter).into_iter().filter_map(|source| match source {
            Source::Message(letter) => Some(letter),
            _ => None,
        });
        taken.collect()
    }

    fn calls(&self) -> impl Iterator<Item = &Pending> {
        self.waiting.iter().filter_map(|source| match source {
            Source::Call(pending) => Some(pending),
            _ => None,
        })
    }

    pub(crate) fn call_count(&self) -> usize {
        self.calls().count()
    }

    /// Whether a call waits that borrows the struct exclusively.
    pub(crate) fn has_exclusive_call(&self) -> bool {
        self.calls().any(|pending| pending.borrow == Borrow::Exclusive)
    }

    /// Calls and reads: all callers whose input waits here.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &Pending> {
        self.calls().chain(&self.reads)
    }

    /// Takes out the calls that `is_wanted`, in their order. Reads stay.
    pub(crate) fn take_calls(&mut self, mut is_wanted: impl FnMut(&Pending) -> bool) -> Vec<Pending> {
        let call = |source: &Source| matches!(source, Source::Call(pending) if is_wanted(pending));
        take_if(&mut self.waiting, call).into_iter().filter_map(Source::into_pending).collect()
    }

    /// Empties the queue; returns its calls. Messages stay in the inbox.
    pub(crate) fn take_all_calls(&mut self) -> impl Iterator<Item = Pending> {
        self.waiting.drain(..).filter_map(Source::into_pending)
    }

    pub(crate) fn take_reads(&mut self) -> impl Iterator<Item = Pending> {
        self.reads.drain(..)
    }

    /// Notes that no reply is remembered under an idempotency key: its calls may run.
    pub(crate) fn note_new(&mut self, once: &Once) {
        let calls = self.waiting.iter_mut().filter_map(|source| match source {
            Source::Call(pending) => pending.once.as_mut(),
            _ => None,
        });
        calls.filter(|asked| asked.once == *once).for_each(|asked| asked.is_new = true);
    }

    /// Drops all messages: they are read from the inbox again.
    pub(crate) fn forget_messages(&mut self) {
        self.waiting.retain(|source| matches!(source, Source::Call(_)));
    }

    /// Frees the buffers of empty queues. In most keys nothing waits most of the time, and one slot in
    /// these queues takes a quarter as much memory as the rest of the entity.
    pub(crate) fn slim(&mut self) {
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        if self.reads.is_empty() {
            self.reads = VecDeque::new();
        }
    }

    /// Returns about how many bytes the queue takes beside itself.
    pub(crate) fn weight(&self) -> usize {
        self.waiting.capacity() * size_of::<Source>()
    }
}

/// Takes out the items that `is_wanted`, in their order. Most searches find nothing and move nothing.
fn take_if(waiting: &mut VecDeque<Source>, mut is_wanted: impl FnMut(&Source) -> bool) -> Vec<Source> {
    let Some(first) = waiting.iter().position(&mut is_wanted) else { return Vec::new() };
    let (mut taken, mut kept) = (Vec::new(), waiting.split_off(first));
    taken.extend(kept.pop_front());
    for source in kept {
        if is_wanted(&source) {
            taken.push(source);
        } else {
            waiting.push_back(source);
        }
    }
    taken
}

/// What blocks the inputs further back while the queue is searched.
#[derive(Default)]
pub(crate) struct Blocked {
    exclusive: bool,
    senders: Vec<Key>,
}

impl Blocked {
    /// Whether an earlier input waits for the struct.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Makes later inputs that borrow the struct wait.
    pub(crate) fn block_exclusive(&mut self) {
        self.exclusive = true;
    }

    /// Whether an earlier message of this sender waits.
    pub(crate) fn blocks(&self, sender: &Key) -> bool {
        self.senders.contains(sender)
    }

    /// Makes later messages of this sender wait.
    pub(crate) fn block_sender(&mut self, sender: &Key) {
        self.senders.push(sender.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{call, call_of, call_once, letter},
        *,
    };

    /// The waiting inputs in short: `c3` is call 3, `a2` message 2 of sender `a`.
    fn order(queue: &Queue) -> Vec<String> {
        let name = |source: &Source| match source {
            Source::Call(pending) => format!("c{}", pending.ticket.number),
            Source::Message(letter) => format!("{}{}", String::from_utf8_lossy(&letter.from.key), letter.id.version.0),
            other => format!("{other:?}"),
        };
        queue.waiting.iter().map(name).collect()
    }

    /// M1, M2
    #[test]
    fn messages_of_the_inbox_keep_the_order_of_their_sender_and_go_before_calls() {
        let mut queue = Queue::default();
        queue.add_call(call(1));
        queue.insert_message(letter("a", 4));
        queue.insert_message(letter("b", 1));
        queue.insert_message(letter("a", 2));
        assert_eq!(order(&queue), ["a2", "a4", "b1", "c1"]);
    }

    #[test]
    fn reads_do_not_wait_for_calls() {
        let mut queue = Queue::default();
        queue.add_call(call(1));
        queue.add_call(call_of(2, Borrow::Shared).0);
        assert_eq!(order(&queue), ["c1"]);
        assert_eq!(queue.callers().count(), 2);
        let read = queue.next_read().unwrap();
        assert_eq!(read.ticket.number, 2);
        queue.add_read_as_call(read);
        assert_eq!(order(&queue), ["c1", "c2"]);
    }

    #[test]
    fn calls_are_taken_out_in_their_order() {
        let mut queue = Queue::default();
        (1..=4).for_each(|number| queue.add_call(call(number)));
        queue.add_message(letter("a", 1));
        let even = queue.take_calls(|pending| pending.ticket.number % 2 == 0);
        assert_eq!(even.iter().map(|pending| pending.ticket.number).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(order(&queue), ["c1", "c3", "a1"]);
        assert_eq!(queue.take_messages(|_| true).len(), 1);
        assert_eq!((queue.call_count(), queue.message_count()), (2, 0));
    }

    /// E12
    #[test]
    fn calls_of_one_idempotency_key_may_run_once_it_was_looked_up() {
        let mut queue = Queue::default();
        queue.add_call(call_once(1, "x"));
        queue.add_call(call_once(2, "y"));
        let once = queue.calls().next().unwrap().once.clone().unwrap().once;
        queue.note_new(&once);
        assert!(queue.calls().map(|pending| pending.once.as_ref().unwrap().is_new).eq([true, false]));
    }

    #[test]
    fn forgotten_messages_leave_the_calls() {
        let mut queue = Queue::default();
        queue.add_message(letter("a", 1));
        queue.put_first(Source::Call(call(1)));
        queue.forget_messages();
        assert_eq!(order(&queue), ["c1"]);
    }

    #[test]
    fn empty_queues_take_no_memory() {
        let mut queue = Queue::default();
        queue.add_call(call(1));
        assert!(queue.weight() > 0);
        queue.remove(0);
        queue.slim();
        assert_eq!(queue.weight(), 0);
    }
}
