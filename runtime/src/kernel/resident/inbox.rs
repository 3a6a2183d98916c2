//! Messages at their receiver: taken in order per sender, then retried or turned into dead letters (M1,
//! M4).

use bytes::Bytes;

use super::{
    Body,
    admission::ONE_AT_A_TIME,
    chain::{Chain, Link},
    inbox_crashes::Tries,
    reads::INBOX_PAGE,
    source::{Origin, Source},
    turn::borrow_of,
};
use crate::{
    Borrow, DeadLetter, Error, Key, MessageId, Millis, Version, Work,
    kernel::{
        state::{
            effects::{Effects, Ring},
            shared::Shared,
        },
        util::{backoff::backoff, sparse::Sparse},
    },
    store::{Letter, Outgoing, Retry},
};

/// The most messages that are queued in memory; all others wait in the inbox.
const QUEUED_LETTERS_MAX: usize = 256;

/// What blocks the inputs further back while the queue is searched.
#[derive(Default)]
struct Blocked {
    exclusive: bool,
    senders: Vec<Key>,
}

impl Body {
    /// Queues a message that became durable a moment ago, from an entity of this worker.
    pub(crate) fn queue_letter(&mut self, letter: Letter) {
        if self.knows(letter.id) {
            return;
        }
        // The message must not overtake an older message that waits in the inbox (M1).
        if self.inbox_has_more || self.letters_queued() >= QUEUED_LETTERS_MAX {
            self.inbox_has_more = true;
            self.inbox_missed = true;
            return;
        }
        self.queue.add(Source::Letter(letter));
    }

    pub(crate) fn letters_queued(&self) -> usize {
        self.queue.iter().filter(|source| matches!(source, Source::Letter(_))).count()
    }

    /// Takes in a page of the inbox: unknown messages join the queue, in the order of each sender.
    pub(crate) fn found_inbox(&mut self, letters: Vec<Letter>, at: &Shared, out: &mut Effects) {
        let is_full = letters.len() >= INBOX_PAGE as usize;
        let (last, before) = (letters.last().map(|letter| letter.id), self.letters_queued());
        self.inbox_read = Some(self.inbox_asked);
        self.letters_held = letters.iter().filter(|letter| letter.at == Millis::MAX).count();
        for letter in letters {
            // A message at the end of time is not tried: it is kept for a person.
            if self.knows(letter.id) || letter.at == Millis::MAX {
                continue;
            }
            let wait = letter.at.since(at.time.now());
            if !wait.is_zero() {
                out.timers.push((at.driver.monotonic() + wait, Ring::Again));
            }
            self.queue_in_order(letter);
        }
        self.inbox_has_more = is_full || self.inbox_missed;
        // If nothing of a full page was queued, the next read begins behind the page.
        self.inbox_after = last.filter(|_| is_full && self.letters_queued() == before);
    }

    /// Queues a message of the inbox. It goes before later messages of its sender, and before the calls
    /// that wait here, because it was in the inbox when they were made.
    pub(crate) fn queue_in_order(&mut self, letter: Letter) {
        let later = |source: &Source| matches!(source, Source::Letter(other) if other.from == letter.from && other.id > letter.id);
        let after_letters = self.queue.iter().rposition(|source| matches!(source, Source::Letter(_)));
        let place = self.queue.iter().position(later).or(after_letters.map(|last| last + 1)).unwrap_or(0);
        self.queue.insert(place, Source::Letter(letter));
    }

    /// Whether a message is here already: queued, being handled, or taken by a commit on its way.
    pub(crate) fn knows(&self, id: MessageId) -> bool {
        let taken = |chain: &Chain| chain.taken.contains(&id);
        self.queue.iter().any(|source| source.message() == Some(id))
            || self.running.iter().any(|running| matches!(&running.origin, Origin::Letter(letter) if letter.id == id))
            || self.ends.iter().any(|end| matches!(&end.origin, Origin::Letter(letter) if letter.id == id))
            || taken(&self.chain)
            || self.flying.as_ref().is_some_and(|(flying, _)| taken(flying))
    }

    /// Takes the first call or message whose turn may be taken now.
    pub(crate) fn pick(&mut self, at: &Shared, out: &mut Effects) -> Option<Source> {
        if self.wants_inbox(at) || self.letters_are_stale(at) {
            self.read_inbox(at, out);
        }
        let mut blocked = Blocked::default();
        let mut index = 0;
        while index < self.queue.len() {
            if self.left_before_its_turn(index) {
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
        if !self.inbox_has_more {
            return false;
        }
        let now = at.time.now();
        let ready = |source: &Source| matches!(source, Source::Letter(letter) if letter.at <= now);
        let has_room = self.letters_queued() < QUEUED_LETTERS_MAX;
        self.inbox_missed && has_room || !self.queue.iter().any(ready)
    }

    /// Whether messages must wait until the inbox is read again. Unseen messages are expected in it, and an
    /// older message of the same sender may be among them (M1).
    fn letters_are_stale(&self, at: &Shared) -> bool {
        self.inbox_read != Some(at.unseen()) && self.letters_queued() > 0
    }

    fn left_before_its_turn(&self, index: usize) -> bool {
        matches!(&self.queue[index], Source::Call(pending) if pending.caller.is_gone())
    }

    fn may_take(&mut self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        match &self.queue[index] {
            Source::Call(_) => self.may_take_call(index, blocked, at, out),
            Source::Letter(_) => self.may_take_letter(index, blocked, at, out),
            _ => true,
        }
    }

    fn may_take_call(&mut self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        let Source::Call(pending) = &self.queue[index] else { return false };
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
        let Source::Call(pending) = &self.queue[index] else { return false };
        let may = !waits_for_its_first
            && !self.inbox_awaited
            && !(exclusive
                && (blocked.exclusive || self.is_lent() || self.work_goes_first(at) || self.waits_for_what_was_left()))
            && (!pending.impure || self.state_is_durable());
        blocked.exclusive |= exclusive && !may;
        may
    }

    /// Whether listed work goes before the next call. Both borrow the struct alternately: after a call,
    /// work that waits for the struct goes first (E3).
    fn work_goes_first(&self, at: &Shared) -> bool {
        self.calls_went_last
            && at.has_place()
            // After two crashes work runs one piece at a time, and calls do not wait for that.
            && self.tip.as_ref().is_some_and(|tip| tip.crashes.deaths() < ONE_AT_A_TIME)
            && self.listed.iter().any(|work| work.borrow == Borrow::Exclusive && !self.is_under_way(work))
    }

    /// Whether calls must wait for work that was there when the entity was read and must borrow the struct
    /// first (W6).
    fn waits_for_what_was_left(&self) -> bool {
        if !self.may_have_left {
            return false;
        }
        let waits = |work: &Work| work.goes_first && work.borrow == Borrow::Exclusive && !self.is_under_way(work);
        let on_their_way =
            [self.chain.listed.as_ref(), self.flying.as_ref().and_then(|(flying, _)| flying.listed.as_ref())];
        self.relist || self.listed.iter().chain(on_their_way.into_iter().flatten().flatten()).any(waits)
    }

    fn may_take_letter(&self, index: usize, blocked: &mut Blocked, at: &Shared, out: &mut Effects) -> bool {
        let Source::Letter(letter) = &self.queue[index] else { return false };
        let borrow = at.registry.get(&letter.definition).map_or(Borrow::None, |found| borrow_of(found, &letter.verb));
        let exclusive = borrow == Borrow::Exclusive;
        let now = at.time.now();
        let has_place = at.has_place();
        out.wants_work_place |= !has_place && self.impure_letters.contains(&letter.id);
        // A message that waits for its time or for an earlier message does not block other senders.
        let in_line = letter.at <= now && !blocked.senders.contains(&letter.from);
        let may = self.inbox_read == Some(at.unseen())
            && in_line
            && !self.is_taking_from(&letter.from)
            && !(exclusive
                && (blocked.exclusive || self.is_lent() || self.work_goes_first(at) || self.waits_for_what_was_left()))
            && (!self.impure_letters.contains(&letter.id) || self.state_is_durable() && has_place);
        if !may {
            blocked.senders.push(letter.from.clone());
            blocked.exclusive |= exclusive && in_line;
        }
        may
    }

    /// Whether running code is handling a message of this sender. The next message of the sender waits for
    /// it.
    fn is_taking_from(&self, sender: &Key) -> bool {
        let from = |origin: &Origin| matches!(origin, Origin::Letter(letter) if letter.from == *sender);
        self.running.iter().any(|running| from(&running.origin)) || self.ends.iter().any(|end| from(&end.origin))
    }

    /// Whether a call with this idempotency key is in progress.
    fn is_in_progress(&self, once: &crate::store::Once) -> bool {
        let same = |pending: &crate::kernel::api::pending_call::Pending| {
            pending.once.as_ref().is_some_and(|asked| asked.once == *once)
        };
        let has = |chain: &Chain| chain.links.iter().filter_map(|link| link.source.pending()).any(same);
        has(&self.chain)
            || self.flying.as_ref().is_some_and(|(flying, _)| has(flying))
            || self.running.iter().any(|running| matches!(&running.origin, Origin::Call(pending) if same(pending)))
            || self.ends.iter().any(|end| matches!(&end.origin, Origin::Call(pending) if same(pending)))
            || self.held.iter().any(|(_, pending)| same(pending))
    }

    /// Handles a message whose turn was refused: it is retried with backoff, then becomes a dead letter.
    /// Other senders are not delayed (M4).
    pub(crate) fn letter_failed(&mut self, letter: Letter, error: &Error, at: &Shared, out: &mut Effects) {
        let tries = Tries::of(&letter).failed();
        let attempts = u32::from(tries.failures);
        self.impure_letters.remove(&letter.id);
        let own = error.own();
        if own.is_none() || attempts >= at.options.attempts_max {
            let own = own.cloned().unwrap_or_default();
            return self.bury(letter, attempts, (&error.to_string(), own), at, out);
        }
        let (first, last) = at.options.retry;
        let pause = backoff(first, last, attempts, at.driver.random());
        let retry = Retry { id: letter.id, attempts: tries.pack(), at: at.time.now().after(pause) };
        self.stack_inbox(at, |chain, _| chain.retry.push(retry));
        out.timers.push((at.driver.monotonic() + pause, Ring::Again));
        self.queue.push_front(Source::Letter(Letter { attempts: retry.attempts, at: retry.at, ..letter }));
    }

    /// Turns a message into a dead letter. `error` is the error of the author's code, if that was the
    /// reason.
    fn bury(&mut self, letter: Letter, attempts: u32, (reason, error): (&str, Bytes), at: &Shared, out: &mut Effects) {
        tracing::warn!(key = %self.key, from = %letter.from, reason, "a message is a dead letter");
        let Some((definition, to)) = at.registry.letter_box().filter(|(_, to)| *to != self.key) else {
            // No entity takes dead letters, or this entity takes them and failed: the message stays in the
            // inbox for a person, at the end of time.
            let retry = Retry { id: letter.id, attempts, at: Millis::MAX };
            return self.stack_inbox(at, |chain, _| chain.retry.push(retry));
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
        self.stack_inbox(at, |chain, version| {
            let id = MessageId { version, index: chain.sent.len() as u32 };
            chain.taken.push(dead.id);
            let (verb, body) = ("letter".into(), dead.encode());
            chain.sent.push(Outgoing { id, partition, to, definition, verb, body, mark });
        });
    }

    /// Adds a change of the inbox to the chain. The entity, if there is one, gets a new version.
    pub(crate) fn stack_inbox(&mut self, at: &Shared, change: impl FnOnce(&mut Chain, Version)) {
        let version = self.open_own(at, Link::kernel());
        change(&mut self.chain, version);
    }
}
