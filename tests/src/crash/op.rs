//! The operations of a run: numbered, so that each is known by name before and after any crash.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use drystone_runtime::{Call, stable_hash};

/// One operation. Its number says what it does, to whom, and under which idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Op(pub(super) u64);

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Adds one to a counter.
    Add,
    /// Adds one to a relay, which sends a message in the same commit.
    Relay,
    /// Sets the alarm of a bell of its own.
    Arm,
    /// Gives a worker a piece of work.
    Work,
    /// Adds an item to a pile: a buffer.
    Item,
    /// Sets the alarm of a note of its own: an object.
    Note,
    /// Enqueues a job: a queue.
    Job,
    /// Sends an event to a run: a workflow.
    Signal,
    /// Publishes an event on a topic.
    Publish,
}

/// How many deeds there are.
const DEEDS: u64 = 9;

/// What becomes of a batch with this item in it, of several the worst; or of this job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    Succeeds,
    Fails,
    Panics,
    Kills,
}

/// The piece of work that kills every process it runs in.
pub(super) const GUILTY: Op = Op(48);

/// The item whose flush does: later, so that one of them is given up before the next begins.
pub(super) const GUILTY_ITEM: Op = Op(247);

/// The job that does: later still.
pub(super) const GUILTY_JOB: Op = Op(438);

/// No alarm is set further ahead: some ring in the same process, some in the next.
const ALARM_MS_MAX: u64 = 60;

impl Op {
    pub(super) fn deed(self) -> Deed {
        match self.0 % DEEDS {
            0 => Deed::Add,
            1 => Deed::Relay,
            2 => Deed::Arm,
            3 => Deed::Work,
            4 => Deed::Item,
            5 => Deed::Note,
            6 => Deed::Job,
            7 => Deed::Signal,
            _ => Deed::Publish,
        }
    }

    /// What its flush does, if it is an item, or itself, if it is a job.
    pub(super) fn rule(self) -> Rule {
        match self.0 / DEEDS {
            _ if self == GUILTY_ITEM || self == GUILTY_JOB => Rule::Kills,
            some if some % 31 == 7 => Rule::Panics,
            some if some % 23 == 5 => Rule::Fails,
            _ => Rule::Succeeds,
        }
    }

    /// The entity that it is asked of.
    pub(super) fn key(self) -> String {
        let some = self.0 / DEEDS;
        match self.deed() {
            Deed::Add => format!("counter-{}", some % 4),
            Deed::Relay => format!("relay-{}", some % 3),
            Deed::Arm => format!("bell-{}", self.0),
            Deed::Work if self == GUILTY => "guilty".into(),
            Deed::Work => format!("worker-{}", some % 4),
            Deed::Item if self == GUILTY_ITEM => "guilty-pile".into(),
            Deed::Item => format!("pile-{}", some % 3),
            Deed::Note => format!("note-{}", self.0),
            Deed::Job if self == GUILTY_JOB => "guilty-jobs".into(),
            Deed::Job => format!("jobs-{}", some % 2),
            Deed::Signal => format!("ship-{}", some % super::fleet::SHIPS),
            Deed::Publish => "storm".into(),
        }
    }

    /// The call of the kernel that does it; `None` if it is one of the typed app's.
    pub(super) fn call(self) -> Option<Call> {
        let (definition, verb) = match self.deed() {
            Deed::Add => ("counter", "add"),
            Deed::Relay => ("counter", "relay"),
            Deed::Arm => ("bell", "arm"),
            Deed::Work => ("worker", "work"),
            Deed::Item | Deed::Note | Deed::Job | Deed::Signal | Deed::Publish => return None,
        };
        let body = if self.deed() == Deed::Arm { Self(self.alarm_ms()) } else { self }.encode();
        Some(Call::new(definition, self.key(), verb, body).once(self.once()))
    }

    /// Its idempotency key: asked again, it is answered as it was the first time.
    pub(super) fn once(self) -> String {
        format!("op-{}", self.0)
    }

    /// Which ship it signals to, counted on through both signals.
    pub(super) fn ship(self) -> u64 {
        self.0 / DEEDS
    }

    /// Which event of the storm it is.
    pub(super) fn gust(self) -> u64 {
        self.0 / DEEDS
    }

    /// Where a relay passes it on to: two relays share a receiver.
    pub(super) fn sink(self) -> &'static str {
        if self.0 / DEEDS % 3 == 1 { "sink-one" } else { "sink-two" }
    }

    /// How far ahead an alarm is set.
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
}
