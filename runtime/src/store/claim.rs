//! Leases: who owns which partition, and what time it is.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;

use super::{Batch, Verdict};
use crate::{Epoch, Millis, Name, Partition};

/// Who asks for leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Unique to one opening of one kernel.
    pub id: Name,
    /// Where it can be reached, for [`Error::NotOwner`](crate::Error::NotOwner).
    pub address: String,
}

/// What a worker wants of its leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// Partitions that are free, up to so many.
    Take {
        /// At most so many more.
        at_most: u32,
        /// For how long.
        lease: Duration,
    },
    /// To keep these.
    Renew {
        /// What it holds.
        held: Vec<(Partition, Epoch)>,
        /// For how long from now.
        lease: Duration,
        /// The worker's time.
        now: Millis,
    },
    /// To give these up.
    Release {
        /// What it holds.
        held: Vec<(Partition, Epoch)>,
        /// Whether everything ended in order, so that nothing counts as a crash (R2).
        clean: bool,
        /// The worker's time.
        now: Millis,
    },
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The store's clock.
    pub now: Millis,
    /// The highest time the store was ever told.
    pub highest: Millis,
    /// How many partitions there are, for ever.
    pub partitions: u32,
    /// The leases that were taken or renewed.
    pub leases: Vec<Lease>,
    /// Who owns the others, by address.
    pub others: Vec<(Partition, String)>,
}

/// The ownership of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Of what.
    pub partition: Partition,
    /// Since when: every batch names it.
    pub epoch: Epoch,
    /// The epoch of the previous owner, if that did not end in order: what it has written bears it (W2).
    pub before: Epoch,
    /// Whether the previous owner ended in order. A partition never owned is clean.
    pub clean: bool,
    /// The highest time its previous owner told: an alarm due by then may have been ringing.
    pub highest: Millis,
}

/// The receiving end of a store's hints.
#[derive(Debug)]
pub struct Hints(mpsc::Receiver<Partition>);

impl Hints {
    /// The next partition to look at; `None` when the store is gone.
    pub async fn next(&mut self) -> Option<Partition> {
        self.0.recv().await
    }
}

/// What a store keeps to send hints with: any number of receivers, none of which can slow it.
#[derive(Debug, Default)]
pub struct HintSender(Mutex<Vec<mpsc::Sender<Partition>>>);

impl HintSender {
    /// A new receiver.
    pub fn subscribe(&self) -> Hints {
        let (sender, receiver) = mpsc::channel(1024);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Hints(receiver)
    }

    /// Hints at every partition that got messages from the writes of `batch` that were applied, but for those that they were made in:
    /// the worker whose batch it is owns these, and knows.
    pub fn send_after(&self, batch: &Batch, verdicts: &[Verdict]) {
        let is_applied = |(_, verdict): &(_, &Verdict)| **verdict == Verdict::Applied;
        let applied = || batch.writes.iter().zip(verdicts).filter(is_applied).map(|(write, _)| write);
        let is_owned = |partition: &Partition| applied().any(|write| write.partition == *partition);
        let sent: BTreeSet<Partition> = applied().flat_map(|write| &write.sent).map(|sent| sent.partition).collect();
        sent.into_iter().filter(|partition| !is_owned(partition)).for_each(|partition| self.send(partition));
    }

    /// Tells everyone; a receiver that is full misses it.
    pub fn send(&self, partition: Partition) {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|sender| !sender.is_closed());
        for sender in senders.iter() {
            let _ = sender.try_send(partition);
        }
    }
}
