//! The operations of a campaign. They are numbered, so that each has the same name before and after any
//! crash.
//!
//! A campaign is divided into rounds. The number of an operation tells its round, its deed, its entity, and
//! its idempotency key.

use std::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use drystone_runtime::{Call, stable_hash};

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Op(pub(super) u64);

/// The deed of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Adds one to a counter.
    Add,
    /// Adds one to a relay, which sends a message in the same commit.
    Relay,
    /// Sets the alarm of its own bell.
    Arm,
    /// Gives a worker a piece of work.
    Work,
    /// Adds an item to a pile, which is a buffer.
    Item,
    /// Sets the alarm of its own note, which is an object.
    Note,
    /// Enqueues a job in a queue.
    Job,
    /// Starts workflows and sends them events.
    Sail,
    /// Publishes an event on a topic.
    Publish,
    /// Acquires a permit of a semaphore and releases it.
    Permit,
    /// Gives each transactional hook something to write.
    Stamp,
    /// Writes an order and sends messages in one transaction.
    Order,
}

/// The number of deeds.
pub(super) const DEEDS: u64 = 12;

/// The remainder, by [`DEEDS`], of the operations that sail.
pub(super) const SAIL: u64 = 7;
/// The remainders of the operations that stamp, and of the operations that order.
pub(super) const STAMP: u64 = 10;
pub(super) const ORDER: u64 = 11;

/// The numbers reserved for a round. No round has so many operations.
const ROUND: u64 = 1_000_000;

/// The outcome of a job, or of a batch with this item. The worst item of a batch decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    Succeeds,
    Fails,
    Panics,
    Kills,
}

/// The guilty piece of work, which kills the process.
pub(super) const GUILTY: Op = Op(51);

/// The guilty item, whose flush kills the process. The number is higher, so that the kills by one guilty
/// operation are over before those by the next begin.
pub(super) const GUILTY_ITEM: Op = Op(268);

/// The guilty job, which kills the process. It comes last.
pub(super) const GUILTY_JOB: Op = Op(474);

/// How far ahead an alarm may be set. Some alarms ring in the same process, some in the next.
const ALARM_MS_MAX: u64 = 60;

impl Op {
    /// The numbers of a round's operations.
    pub(super) fn of_round(round: u64) -> Range<u64> {
        round * ROUND..(round + 1) * ROUND
    }

    pub(super) fn round(self) -> u64 {
        self.0 / ROUND
    }

    fn nth(self) -> u64 {
        self.0 % ROUND
    }

    pub(super) fn deed(self) -> Deed {
        match self.nth() % DEEDS {
            0 => Deed::Add,
            1 => Deed::Relay,
            2 => Deed::Arm,
            3 => Deed::Work,
            4 => Deed::Item,
            5 => Deed::Note,
            6 => Deed::Job,
            SAIL => Deed::Sail,
            8 => Deed::Publish,
            9 => Deed::Permit,
            STAMP => Deed::Stamp,
            _ => Deed::Order,
        }
    }

    /// The number of operations with the same deed before this one in the round.
    pub(super) fn turn(self) -> u64 {
        self.nth() / DEEDS
    }

    /// The outcome of the flush, for an item, or of the job itself.
    pub(super) fn rule(self) -> Rule {
        match self.turn() {
            _ if self == GUILTY_ITEM || self == GUILTY_JOB => Rule::Kills,
            some if some % 31 == 7 => Rule::Panics,
            some if some % 23 == 5 => Rule::Fails,
            _ => Rule::Succeeds,
        }
    }

    /// The key of the entity that is called. Every round has its own entities.
    pub(super) fn key(self) -> String {
        let turn = self.turn();
        let name = match self.deed() {
            Deed::Add => format!("counter-{}", turn % 4),
            Deed::Relay => format!("relay-{}", turn % 3),
            Deed::Arm => format!("bell-{turn}"),
            Deed::Work if self == GUILTY => "guilty".into(),
            Deed::Work => format!("worker-{}", turn % 4),
            Deed::Item if self == GUILTY_ITEM => "guilty-pile".into(),
            Deed::Item => format!("pile-{}", turn % 3),
            Deed::Note => format!("note-{turn}"),
            Deed::Job if self == GUILTY_JOB => "guilty-jobs".into(),
            Deed::Job => format!("jobs-{}", turn % 2),
            Deed::Sail => format!("ship-{turn}"),
            Deed::Publish => "storm".into(),
            Deed::Permit => format!("berth-{}", turn % 2),
            Deed::Stamp => format!("stamp-{turn}"),
            Deed::Order => format!("order-{turn}"),
        };
        in_round(&name, self.round())
    }

    /// The kernel call for this operation. `None` if it is a call of the typed app.
    pub(super) fn call(self) -> Option<Call> {
        let (definition, verb) = match self.deed() {
            Deed::Add => ("counter", "add"),
            Deed::Relay => ("counter", "relay"),
            Deed::Arm => ("bell", "arm"),
            Deed::Work => ("worker", "work"),
            Deed::Item | Deed::Note | Deed::Job | Deed::Sail => return None,
            Deed::Publish | Deed::Permit | Deed::Stamp | Deed::Order => return None,
        };
        let body = if self.deed() == Deed::Arm { Self(self.alarm_ms()) } else { self }.encode();
        Some(Call::new(definition, self.key(), verb, body).once(self.once()))
    }

    /// The idempotency key. A repeated operation gets its first answer.
    pub(super) fn once(self) -> String {
        format!("op-{}", self.0)
    }

    /// The counter that a relay passes the operation on to. Two relays share a receiver.
    pub(super) fn sink(self) -> String {
        in_round(if self.turn() % 3 == 1 { "sink-one" } else { "sink-two" }, self.round())
    }

    /// How far ahead the alarm is set.
    pub(super) fn alarm_ms(self) -> u64 {
        stable_hash(&[&self.0.to_be_bytes()]) % ALARM_MS_MAX
    }

    pub(super) fn encode(self) -> Bytes {
        let mut body = BytesMut::with_capacity(8);
        body.put_u64(self.0);
        body.freeze()
    }

    pub(super) fn decode(mut body: &[u8]) -> Option<Self> {
        body.try_get_u64().ok().map(Self)
    }
}

/// The key of an entity of a round.
pub(super) fn in_round(name: &str, round: u64) -> String {
    format!("{name}@{round}")
}

/// The round that a key belongs to. A child run belongs to the round of its parent.
pub(super) fn round_of(key: &str) -> Option<u64> {
    let (_, round) = key.rsplit_once('@')?;
    let digits = round.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(round.len());
    round[..digits].parse().ok()
}

/// The counter to which every piece of work adds itself.
pub(super) fn ledger(round: u64) -> String {
    in_round("ledger", round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guilty_ones_have_entities_of_their_own() {
        assert_eq!((GUILTY.deed(), GUILTY_ITEM.deed(), GUILTY_JOB.deed()), (Deed::Work, Deed::Item, Deed::Job));
        for guilty in [GUILTY, GUILTY_ITEM, GUILTY_JOB] {
            assert!((0..1_000).map(Op).filter(|op| *op != guilty).all(|op| op.key() != guilty.key()));
        }
    }

    #[test]
    fn an_operation_comes_back_as_it_was() {
        assert_eq!(Op::decode(&Op(7).encode()), Some(Op(7)));
        assert_eq!(Op::decode(b"short"), None);
    }

    #[test]
    fn a_key_says_its_round() {
        let op = Op(Op::of_round(12).start + 37);
        assert_eq!((op.round(), op.turn(), op.deed()), (12, 3, Deed::Relay));
        for key in [op.key(), op.sink(), ledger(12), "ship-3@12/boat-1".into()] {
            assert_eq!(round_of(&key), Some(12), "{key}");
        }
        assert_eq!(round_of("dead letters"), None);
        assert_ne!(op.key(), Op(Op::of_round(13).start + 37).key());
    }
}
