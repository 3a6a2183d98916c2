//! Leases: which worker owns which partition, and the time of the store's clock.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;

use super::{Batch, Verdict};
use crate::{Epoch, Millis, Name, Partition};

/// A worker that asks for leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The id, unique to one opening of one kernel.
    pub id: Name,
    /// The address at which the worker can be reached, for [`Error::NotOwner`](crate::Error::NotOwner).
    pub address: String,
}

/// The request of a worker for leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// Takes free partitions.
    Take {
        /// The maximum number of partitions to take in addition to those held.
        at_most: u32,
        /// The duration of the leases.
        lease: Duration,
    },
    /// Renews leases.
    Renew {
        /// The partitions that the worker holds.
        held: Vec<(Partition, Epoch)>,
        /// The duration of the leases, from now.
        lease: Duration,
        /// The time of the worker.
        now: Millis,
    },
    /// Releases partitions.
    Release {
        /// The partitions that the worker holds.
        held: Vec<(Partition, Epoch)>,
        /// Whether the worker ended in order, so that nothing counts as a crash (R2).
        clean: bool,
        /// The time of the worker.
        now: Millis,
    },
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The time of the store's clock.
    pub now: Millis,
    /// The highest time ever reported to the store.
    pub highest: Millis,
    /// The number of partitions, which never changes.
    pub partitions: u32,
    /// The leases that were taken or renewed.
    pub leases: Vec<Lease>,
    /// The addresses of the owners of the other partitions.
    pub others: Vec<(Partition, String)>,
}

/// The ownership of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The partition.
    pub partition: Partition,
    /// The epoch of this ownership: every batch names it.
    pub epoch: Epoch,
    /// The epoch of the previous owner, if it did not end in order: everything that it wrote has this epoch
    /// (W2).
    pub before: Epoch,
    /// Whether the previous owner ended in order. A partition that never had an owner is clean.
    pub clean: bool,
    /// The highest time that the previous owner reported: an alarm due by then may have rung.
    pub highest: Millis,
}

/// The receiving end of a store's hints.
#[derive(Debug)]
pub struct Hints(mpsc::Receiver<Partition>);

impl Hints {
    /// Returns the next partition to look at, or `None` when the store is gone.
    pub async fn next(&mut self) -> Option<Partition> {
        self.0.recv().await
    }
}

/// The sending end of a store's hints. It has any number of receivers, and none of them can slow the store.
#[derive(Debug, Default)]
pub struct HintSender(Mutex<Vec<mpsc::Sender<Partition>>>);

impl HintSender {
    /// Makes a new receiver.
    pub fn subscribe(&self) -> Hints {
        // The bound keeps an idle receiver from using memory. Scans make up for lost hints.
        let (sender, receiver) = mpsc::channel(1024);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Hints(receiver)
    }

    /// Sends a hint for every partition that got messages from the applied writes of `batch`. Partitions of
    /// those writes themselves get no hint: the worker of this batch owns them, and delivers the messages
    /// itself.
    pub fn send_after(&self, batch: &Batch, verdicts: &[Verdict]) {
        let is_applied = |(_, verdict): &(_, &Verdict)| **verdict == Verdict::Applied;
        let applied = || batch.writes.iter().zip(verdicts).filter(is_applied).map(|(write, _)| write);
        let is_owned = |partition: &Partition| applied().any(|write| write.partition == *partition);
        let sent: BTreeSet<Partition> = applied().flat_map(|write| &write.sent).map(|sent| sent.partition).collect();
        sent.into_iter().filter(|partition| !is_owned(partition)).for_each(|partition| self.send(partition));
    }

    /// Sends a hint to all receivers. A receiver with a full queue misses the hint.
    pub fn send(&self, partition: Partition) {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|sender| !sender.is_closed());
        for sender in senders.iter() {
            let _ = sender.try_send(partition);
        }
    }
}
