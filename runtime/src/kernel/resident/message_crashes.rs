//! Messages to an unbound key: the crashes held against each message, kept in the inbox (W2).

use super::{
    Resident,
    crashes::told,
    parts::{admission::Admission, chain::Link},
};
use crate::{
    Conviction, Crashes, Epoch, Millis,
    kernel::state::{effects::Effects, lease::Held, shared::Shared},
    planted::Bug,
    store::{Letter, Retry},
};

/// How often a message was tried, packed into one number of the inbox: its failures in the lowest byte, the
/// crashes held against it in the next byte, and above them the lower half of the epoch that wrote both.
/// The version of an entity tells that epoch; an unbound key has no version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    pub(crate) failures: u8,
    crashes: Crashes,
    epoch: u16,
}

impl Tries {
    pub(crate) fn of(letter: &Letter) -> Self {
        let [failures, crashes, low, high] = letter.attempts.to_le_bytes();
        Self { failures, crashes: Crashes::from_byte(crashes), epoch: u16::from_le_bytes([low, high]) }
    }

    /// Adds a failure. The turn came to an end, so no crash is held against the message.
    pub(crate) fn failed(self) -> Self {
        Self { failures: self.failures.saturating_add(1), ..Self::default() }
    }

    pub(crate) fn pack(self) -> u32 {
        let [low, high] = self.epoch.to_le_bytes();
        u32::from_le_bytes([self.failures, self.crashes.to_byte(), low, high])
    }

    fn with(self, crashes: Crashes, epoch: Epoch) -> Self {
        Self { crashes, epoch: epoch.0 as u16, ..self }
    }

    fn is_written_in(self, epoch: Epoch) -> bool {
        self.epoch == epoch.0 as u16
    }
}

impl Resident {
    /// Returns the crashes held against the most suspected message.
    pub(crate) fn crashes_of_messages(&self) -> Crashes {
        self.queue
            .messages()
            .map(|letter| crashes_of_message(letter, &self.lease))
            .max_by_key(|crashes| crashes.deaths())
            .unwrap_or_default()
    }

    pub(crate) fn crashes_stored_of_messages(&self) -> Crashes {
        let stored = self.queue.messages().map(|letter| Tries::of(letter).crashes);
        stored.max_by_key(|crashes| crashes.deaths()).unwrap_or_default()
    }

    pub(crate) fn messages_are_written_with(&self, crashes: Crashes) -> bool {
        let tries = |letter: &Letter| Tries::of(letter);
        self.queue.messages().map(tries).any(|tries| tries.crashes == crashes && tries.is_written_in(self.lease.epoch))
    }

    /// Stores the crashes held against each message, changed by `staged`.
    pub(crate) fn keep_crashes_of_messages(&mut self, at: &Shared, staged: fn(Crashes) -> Crashes) {
        let mut retries = Vec::new();
        for letter in self.queue.messages_mut() {
            let (tries, crashes) = (Tries::of(letter), crashes_of_message(letter, &self.lease));
            if tries.crashes.is_none() && crashes.is_none() {
                continue;
            }
            letter.attempts = tries.with(staged(crashes), self.lease.epoch).pack();
            retries.push(Retry { id: letter.id, attempts: letter.attempts, at: letter.at });
        }
        if !retries.is_empty() {
            self.stack_inbox(at, |chain| retries.into_iter().for_each(|retry| chain.retry(retry)));
        }
    }

    /// Holds messages in the inbox for a person: the process has died with them too often, and lived
    /// without them.
    pub(crate) fn hold_messages(&mut self, at: &Shared, out: &mut Effects) {
        let mut emit = Vec::new();
        let is_convicted = |letter: &Letter| crashes_of_message(letter, &self.lease).deaths() > at.options.crashes_max;
        for letter in self.queue.take_messages(is_convicted) {
            let crashes = crashes_of_message(&letter, &self.lease);
            let conviction = Conviction {
                work: None,
                deaths: crashes.deaths(),
                controls: crashes.controls(),
                build: at.options.build,
            };
            tracing::error!(key = %self.key, from = %letter.from, verb = %letter.verb, %conviction, "a message is held");
            emit.push(told("message.held", &conviction));
            let attempts = Tries::of(&letter).with(crashes.admitted(), self.lease.epoch).pack();
            self.stack_inbox(at, |chain| chain.retry(Retry { id: letter.id, attempts, at: Millis::MAX }));
        }
        self.open_own(at, Link { emit, ..Link::kernel() });
        out.wake.extend(at.window.leave(&self.key));
        // The messages that are left are checked again.
        self.admission = Admission::default();
    }

    /// Queues held messages again, with no crashes held against them.
    pub(crate) fn release_messages(&mut self, at: &Shared) {
        for letter in self.inbox.take_released() {
            if self.knows(letter.id) {
                continue;
            }
            let retry = Retry { id: letter.id, attempts: 0, at: at.time.now() };
            self.stack_inbox(at, |chain| chain.retry(retry));
            self.queue.insert_message(Letter { attempts: 0, at: retry.at, ..letter });
        }
    }
}

/// Returns the crashes held against a message now.
fn crashes_of_message(letter: &Letter, lease: &Held) -> Crashes {
    let tries = Tries::of(letter);
    let may_have_been_tried = letter.at <= lease.highest && !Bug::CrashNotCounted.planted();
    if tries.is_written_in(lease.epoch) {
        tries.crashes
    } else if lease.clean {
        tries.crashes.after_orderly_end()
    } else if tries.crashes.is_none() {
        if may_have_been_tried { Crashes::FIRST } else { Crashes::NONE }
    } else {
        tries.crashes.after_death(tries.is_written_in(lease.before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, MessageId, Version};

    #[test]
    fn tries_are_read_as_they_were_written() {
        let key = Key::new("app", "k").unwrap();
        let id = MessageId { version: Version(1), index: 0 };
        let letter = |attempts| Letter {
            id,
            from: key.clone(),
            definition: "d".into(),
            verb: "v".into(),
            body: bytes::Bytes::new(),
            attempts,
            at: Millis(0),
            mark: None,
        };
        let tries = Tries { failures: 3, ..Tries::default() }.with(Crashes::FIRST, Epoch(0x1_2345));
        assert_eq!(Tries::of(&letter(tries.pack())), tries);
        assert!(tries.is_written_in(Epoch(0x1_2345)) && !tries.is_written_in(Epoch(0x1_2346)));
        assert_eq!(Tries::of(&letter(2)).failed().pack(), 3, "a number of an older file counts failures");
    }
}
