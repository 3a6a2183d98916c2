//! Messages at their receiver: taken in order per sender, then retried or turned into dead letters (M1,
//! M4).

use bytes::Bytes;

use super::{
    Resident,
    message_crashes::Tries,
    parts::{
        admission::ONE_AT_A_TIME,
        chain::{Chain, Link},
        queue::Blocked,
    },
    reads::INBOX_PAGE,
    source::{Origin, Source},
    turn::borrow_of,
};
use crate::{
    Borrow, DeadLetter, Error, Key, MessageId, Millis, Work,
    kernel::{
        api::pending_call::Pending,
        state::{
            effects::{Effects, Ring},
            shared::Shared,
        },
        util::backoff::backoff,
    },
    store::{Letter, Once, Outgoing, Retry},
};

impl Resident {
    /// Queues a message that became durable a moment ago, from an entity of this worker.
    pub(crate) fn queue_message(&mut self, letter: Letter) {
        if self.knows(letter.id) {
            return;
        }
        // The message must not overtake an older message that waits in the inbox (M1).
        if self.inbox.has_more() || !self.queue.has_room_for_messages() {
            return self.inbox.miss();
        }
        self.queue.add_message(letter);
    }

    /// Takes in a page of the inbox: unknown messages join the queue, in the order of each sender.
    pub(crate) fn found_inbox(&mut self, letters: Vec<Letter>, at: &Shared, out: &mut Effects) {
        let is_full = letters.len() >= INBOX_PAGE as usize;
        let (last, before) = (letters.last().map(|letter| letter.id), self.queue.message_count());
        self.inbox.page_arrived(&letters);
        for letter in letters {
            // A message at the end of time is not tried: it is kept for a person.
            if self.knows(letter.id) || letter.at == Millis::MAX {
                continue;
            }
            let wait = letter.at.since(at.time.now());
            if !wait.is_zero() {
                out.timers.push((at.driver.monotonic() + wait, Ring::Again));
            }
            self.queue.insert_message(letter);
        }
        // If nothing of a full page was queued, the next read begins behind the page.
        self.inbox.page_queued(is_full, last.filter(|_| self.queue.message_count() == before));
    }

    /// Whether a message is here already: queued, being handled, or taken by a commit on its way.
    pub(crate) fn knows(&self, id: MessageId) -> bool {
        self.queue.has_message(id)
            || self
                .work
                .running()
                .iter()
                .any(|running| matches!(&running.origin, Origin::Message(letter) if letter.id == id))
            || self.inputs.ends().any(|end| matches!(&end.origin, Origin::Message(letter) if letter.id == id))
            || self.commits.takes(id)
    }

    /// Takes the first call or message whose turn may be taken now.
    pub(crate) fn pick(&mut self, at: &Shared, out: &mut Effects) -> Option<Source> {
        if self.wants_inbox(at) || self.messages_are_stale(at) {
            self.read_inbox(at, out);
        }
        let mut blocked = Blocked::default();
        let mut index = 0;
        while let Some(source) = self.queue.get(index) {
            if matches!(source, Source::Call(pending) if pending.caller.is_gone()) {
                self.queue.remove(index);
                continue;
            }
            if self.may_take(index, &mut blocked, at, out) {
                return self.queue.remove(index);
            }
            index += 1;
        }
        None
    }

    /// Whether to read more of the inbox: at once if a message was missed, otherwise when no message here
    /// can be taken.
    fn wants_inbox(&self, at: &Shared) -> bool {
        let now = at.time.now();
        self.inbox
            .wants_read(|| self.queue.has_room_for_messages(), || self.queue.messages().any(|letter| letter.at <= now))
    }

    /// Whether messages must wait until the inbox is read again. Unseen messages are expected in it, and an
    /// older message of the same sender may be among them (M1).
    fn messages_are_stale(&self, at: &Shared) -> bool {
        !self.inbox.is_read_for(at.unseen()) && self.queue.has_messages()
    }

    fn may_take(&mut self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        match self.queue.get(index) {
            Some(Source::Call(_)) => self.may_take_call(index, blocked, at, out),
            Some(Source::Message(_)) => self.may_take_message(index, blocked, at, out),
            _ => true,
        }
    }

    fn may_take_call(&mut self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        let Some(Source::Call(pending)) = self.queue.get(index) else { return false };
        let exclusive = pending.borrow == Borrow::Exclusive;
        let waits_for_its_first = match &pending.once {
            Some(asked) if self.is_in_progress(&asked.once) => true,
            Some(asked) if !asked.is_new => {
                let once = asked.once.clone();
                self.look_up(once, out);
                true
            }
            _ => false,
        };
        let Some(Source::Call(pending)) = self.queue.get(index) else { return false };
        let may = !waits_for_its_first
            && !self.inbox.is_awaited()
            && !(exclusive
                && (blocked.is_exclusive()
                    || self.is_lent()
                    || self.work_goes_first(at)
                    || self.waits_for_what_was_left()))
            && (!pending.impure || self.state_is_durable());
        if exclusive && !may {
            blocked.block_exclusive();
        }
        may
    }

    /// Whether listed work goes before the next call. Both borrow the struct alternately: after a call,
    /// work that waits for the struct goes first (E3).
    fn work_goes_first(&self, at: &Shared) -> bool {
        self.work.calls_went_last()
            && at.has_place()
            // After two crashes work runs one piece at a time, and calls do not wait for that.
            && self.tip.as_ref().is_some_and(|tip| tip.crashes.deaths() < ONE_AT_A_TIME)
            && self.work.listed().iter().any(|work| work.borrow == Borrow::Exclusive && !self.is_under_way(work))
    }

    /// Whether calls must wait for work that was there when the entity was read and must borrow the struct
    /// first (W6).
    fn waits_for_what_was_left(&self) -> bool {
        if !self.work.may_have_left() {
            return false;
        }
        let waits = |work: &Work| work.goes_first && work.borrow == Borrow::Exclusive && !self.is_under_way(work);
        let coming = self.commits.lists().flatten();
        self.work.is_to_list() || self.work.listed().iter().chain(coming).any(waits)
    }

    fn may_take_message(&self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        let Some(Source::Message(letter)) = self.queue.get(index) else { return false };
        let borrow = at.registry.get(&letter.definition).map_or(Borrow::None, |found| borrow_of(found, &letter.verb));
        let exclusive = borrow == Borrow::Exclusive;
        let now = at.time.now();
        let has_place = at.has_place();
        out.wants_work_place |= !has_place && self.inbox.is_impure(letter.id);
        // A message that waits for its time or for an earlier message does not block other senders.
        let in_line = letter.at <= now && !blocked.blocks(&letter.from);
        let may = self.inbox.is_read_for(at.unseen())
            && in_line
            && !self.is_taking_from(&letter.from)
            && !(exclusive
                && (blocked.is_exclusive()
                    || self.is_lent()
                    || self.work_goes_first(at)
                    || self.waits_for_what_was_left()))
            && (!self.inbox.is_impure(letter.id) || self.state_is_durable() && has_place);
        if !may {
            blocked.block_sender(&letter.from);
            if exclusive && in_line {
                blocked.block_exclusive();
            }
        }
        may
    }

    /// Whether running code is handling a message of this sender. The next message of the sender waits for
    /// it.
    fn is_taking_from(&self, sender: &Key) -> bool {
        let from = |origin: &Origin| matches!(origin, Origin::Message(letter) if letter.from == *sender);
        self.work.running().iter().any(|running| from(&running.origin))
            || self.inputs.ends().any(|end| from(&end.origin))
    }

    /// Whether a call with this idempotency key is in progress.
    fn is_in_progress(&self, once: &Once) -> bool {
        let same = |pending: &Pending| pending.once.as_ref().is_some_and(|asked| asked.once == *once);
        self.commits.links().filter_map(|link| link.source.pending()).any(same)
            || self
                .work
                .running()
                .iter()
                .any(|running| matches!(&running.origin, Origin::Call(pending) if same(pending)))
            || self.inputs.ends().any(|end| matches!(&end.origin, Origin::Call(pending) if same(pending)))
            || self.callers.held().any(|(_, pending)| same(pending))
    }

    /// Handles a message whose turn was refused: it is retried with backoff, then becomes a dead letter.
    /// Other senders are not delayed (M4).
    pub(crate) fn message_failed(&mut self, letter: Letter, error: &Error, at: &Shared, out: &mut Effects) {
        let tries = Tries::of(&letter).failed();
        let attempts = u32::from(tries.failures);
        self.inbox.forget_message(letter.id);
        let own = error.own();
        if own.is_none() || attempts >= at.options.attempts_max {
            let own = own.cloned().unwrap_or_default();
            return self.bury(letter, attempts, (&error.to_string(), own), at, out);
        }
        let (first, last) = at.options.retry;
        let pause = backoff(first, last, attempts, at.driver.random());
        let retry = Retry { id: letter.id, attempts: tries.pack(), at: at.time.now().after(pause) };
        self.stack_inbox(at, |chain| chain.retry(retry));
        out.timers.push((at.driver.monotonic() + pause, Ring::Again));
        self.queue.put_first(Source::Message(Letter { attempts: retry.attempts, at: retry.at, ..letter }));
    }

    /// Turns a message into a dead letter. `error` is the error of the author's code, if that was the
    /// reason.
    fn bury(&mut self, letter: Letter, attempts: u32, (reason, error): (&str, Bytes), at: &Shared, out: &mut Effects) {
        tracing::warn!(key = %self.key, from = %letter.from, reason, "a message is a dead letter");
        let Some((definition, to)) = at.registry.letter_box().filter(|(_, to)| *to != self.key) else {
            // No entity takes dead letters, or this entity takes them and failed: the message stays in the
            // inbox for a person, at the end of time.
            let retry = Retry { id: letter.id, attempts, at: Millis::MAX };
            return self.stack_inbox(at, |chain| chain.retry(retry));
        };
        out.dead_letters += 1;
        let (definition, to) = (definition.clone(), to.clone());
        let dead = DeadLetter {
            id: letter.id,
            from: letter.from,
            to: self.key.clone(),
            definition: letter.definition,
            verb: letter.verb,
            body: letter.body,
            reason: reason.to_owned(),
            error,
            attempts,
        };
        let partition = to.partition(at.partitions());
        let mark = Some(at.now().mark);
        self.stack_inbox(at, |chain| {
            chain.take(dead.id);
            let (verb, body) = ("letter".into(), dead.encode());
            chain.send(|id| Outgoing { id, partition, to, definition, verb, body, mark });
        });
    }

    /// Adds a change of the inbox to the chain. The entity, if there is one, gets a new version.
    pub(crate) fn stack_inbox(&mut self, at: &Shared, change: impl FnOnce(&mut Chain)) {
        self.open_own(at, Link::kernel());
        change(self.commits.chain_mut());
    }
}
