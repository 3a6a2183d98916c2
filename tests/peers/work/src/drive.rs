//! The work itself, on any queue.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use crate::{Measured, PRODUCERS, payload};

/// So long is slept between two looks at whether everything is finished. It is all that a figure can be off by, with
/// what the system adds to it (some 50 us).
const LOOK: Duration = Duration::from_micros(20);
/// Nothing at all goes on for so long before an item is enqueued alone.
const QUIET: Duration = Duration::from_millis(5);
/// Items before those that count: files are made, statements prepared and threads started by the first ones.
const WARM_UP: u64 = 20;
/// Work that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A queue that is measured, open and with its handlers running.
pub trait Peer: Send + Sync + 'static {
    /// Ends when the queue has acknowledged the item.
    fn enqueue(
        &self,
        queue: usize,
        item: String,
    ) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send;

    /// Whether so many items were finished since it was opened, and are recorded as such. Asked very often.
    fn finished(&self, items: u64) -> bool;
}

/// So many items, by all producers at once. Must not be called from a thread that drives tasks, for it blocks.
pub fn throughput<P: Peer>(peer: &Arc<P>, on: &Handle, queues: usize, items: u64) -> Result<Measured, Box<dyn Error>> {
    let next = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let producers: Vec<_> =
        (0..PRODUCERS).map(|_| on.spawn(produce(peer.clone(), next.clone(), queues, items))).collect();
    let mut latencies = Vec::with_capacity(items as usize);
    for producer in producers {
        latencies.extend(on.block_on(producer)?.map_err(|error| error as Box<dyn Error>)?);
    }
    let enqueued = start.elapsed();
    wait(peer.as_ref(), items)?;
    Ok(Measured::new(latencies, enqueued, start.elapsed()))
}

/// One item after another, each when the one before is finished and all is quiet. It blocks too.
pub fn alone<P: Peer>(peer: &Arc<P>, on: &Handle, items: u64) -> Result<Measured, Box<dyn Error>> {
    let mut latencies = Vec::new();
    for nth in 0..WARM_UP + items {
        thread::sleep(QUIET);
        let start = Instant::now();
        on.block_on(peer.enqueue(0, payload())).map_err(|error| error as Box<dyn Error>)?;
        wait(peer.as_ref(), nth + 1)?;
        latencies.extend((nth >= WARM_UP).then(|| start.elapsed()));
    }
    let busy = latencies.iter().sum();
    Ok(Measured::new(latencies, busy, busy))
}

/// One producer: takes the next item until there are none.
async fn produce<P: Peer>(
    peer: Arc<P>,
    next: Arc<AtomicU64>,
    queues: usize,
    items: u64,
) -> Result<Vec<Duration>, Box<dyn Error + Send + Sync>> {
    let mut latencies = Vec::new();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        if nth >= items {
            return Ok(latencies);
        }
        let before = Instant::now();
        peer.enqueue(nth as usize % queues, payload()).await?;
        latencies.push(before.elapsed());
    }
}

fn wait(peer: &impl Peer, items: u64) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    while !peer.finished(items) {
        if start.elapsed() > PATIENCE {
            return Err(format!("not all of {items} items were finished within {PATIENCE:?}").into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::runtime::Runtime;

    /// Finishes what it is given, at once.
    #[derive(Default)]
    struct Instantly {
        by_queue: [AtomicU64; 3],
    }

    impl Instantly {
        fn counts(&self) -> [u64; 3] {
            [0, 1, 2].map(|queue: usize| self.by_queue[queue].load(Ordering::Relaxed))
        }
    }

    impl Peer for Instantly {
        async fn enqueue(&self, queue: usize, item: String) -> Result<(), Box<dyn Error + Send + Sync>> {
            assert_eq!(item.len() + 2, crate::PAYLOAD_BYTES);
            self.by_queue[queue].fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn finished(&self, items: u64) -> bool {
            self.counts().iter().sum::<u64>() >= items
        }
    }

    #[test]
    fn every_item_is_enqueued_once_and_the_queues_take_turns() {
        let (runtime, peer) = (Runtime::new().unwrap(), Arc::new(Instantly::default()));
        let measured = throughput(&peer, runtime.handle(), 3, 3_000).unwrap();
        assert_eq!((measured.items, peer.counts()), (3_000, [1_000; 3]));
    }

    #[test]
    fn items_that_warm_up_do_not_count() {
        let (runtime, peer) = (Runtime::new().unwrap(), Arc::new(Instantly::default()));
        let measured = alone(&peer, runtime.handle(), 5).unwrap();
        assert_eq!((measured.items, peer.counts()[0]), (5, 5 + WARM_UP));
    }
}
