//! Every bound and pace of the kernel, with its default.

use std::{thread, time::Duration};

/// How a kernel is run. The defaults suit one process on one machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// This worker's name; one is drawn if it is empty.
    pub worker: String,
    /// Where other workers reach this one.
    pub address: String,
    /// Owns at most so many partitions: all.
    pub partitions_max: u32,
    /// How long a lease lasts: 15 s.
    pub lease: Duration,
    /// How often it is renewed: 5 s.
    pub renew_every: Duration,
    /// Threads that take turns, write batches and read: one more than there are processors, 3 at least and 4 at most.
    pub hands: usize,
    /// Threads that may replace those that the author's code blocks: 8.
    pub spare_hands: usize,
    /// How long one poll may take before its hand is replaced: 500 ms.
    pub blocked_after: Duration,
    /// How far ahead alarms are kept in memory: 60 s.
    pub horizon: Duration,
    /// The ringer looks at the time at least so often: 60 s.
    pub nap_max: Duration,
    /// Alarms kept in memory: 65,536.
    pub near_max: usize,
    /// How often the store is scanned for what hints missed: 5 s.
    pub rescan_every: Duration,
    /// Alarms and takeovers under way at once: 1,024.
    pub pace: usize,
    /// A caller who names no deadline waits so long: 30 s.
    pub deadline: Duration,
    /// Turns of one key before another's: 32.
    pub turns_per_visit: usize,
    /// Turns of one entity that wait for the writer together: 256.
    pub chain_turns_max: usize,
    /// Calls that wait for one key: 1,024.
    pub calls_per_key_max: usize,
    /// Bytes of calls that wait: 64 MiB.
    pub waiting_bytes_max: usize,
    /// Entities written by one batch: 4,096.
    pub batch_writes_max: usize,
    /// Bytes written by one batch: 8 MiB.
    pub batch_bytes_max: usize,
    /// Pieces of work at once: 1,024.
    pub work_max: usize,
    /// Bytes of entities kept in memory: 32 MiB. What the allocator and the store take beside them is as much again.
    pub resident_bytes_max: usize,
    /// An entity that nothing has used for so long leaves memory: 5 s.
    pub evict_after: Duration,
    /// Bytes of one payload: 1 MiB.
    pub payload_bytes_max: usize,
    /// Bytes of one commit: 4 MiB.
    pub commit_bytes_max: usize,
    /// Row changes of one commit: 1,000.
    pub commit_rows_max: usize,
    /// Deaths with it that an entity is forgiven: 8. The one after holds it. The first three narrow the suspects down; each
    /// further one follows a control in which the process lived without it. A death that has nothing to do with the entity falls
    /// into its trial and not into its control with a chance of 1 in 9 at most, so six in a row convict an innocent with a chance
    /// of 1 in 531,441.
    pub crashes_max: u8,
    /// How long a suspect runs until it is cleared: 60 s. A control lasts as long, at least, and ten times that at most.
    pub probation: Duration,
    /// What this program was built from: an entity that is held goes on with another build. 0 if it is not known.
    pub build: u64,
    /// How often a message, an alarm or an end of work whose turn fails is tried: 5.
    pub attempts_max: u32,
    /// Between those tries, from and to: 1 s to 60 s, doubling.
    pub retry: (Duration, Duration),
    /// Between tries of a store that is down, from and to: 10 ms to 5 s, doubling, with jitter.
    pub store_retry: (Duration, Duration),
    /// How long replies are remembered for idempotency keys: 24 h.
    pub remember_for: Duration,
    /// How often the sweeper and the reconciler look: 10 s.
    pub sweep_every: Duration,
    /// How many pieces of work of a definition must have been over at once, one after another, for the next to be polled on a thread of
    /// the kernel's: 16. With `u32::MAX` none is.
    pub quick_habit: u32,
    /// Of a batch with no more entities than that, each is told by the thread that wrote it, and a lone caller is answered at once; of a larger
    /// one each learns it when it is visited next: 8.
    pub settled_here_max: usize,
    /// For tests: before one visit in so many, what handlers remember is dropped.
    pub forget_one_in: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            worker: String::new(),
            address: String::new(),
            partitions_max: u32::MAX,
            lease: Duration::from_secs(15),
            renew_every: Duration::from_secs(5),
            hands: 1 + thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 3)),
            spare_hands: 8,
            blocked_after: Duration::from_millis(500),
            horizon: Duration::from_secs(60),
            nap_max: Duration::from_secs(60),
            near_max: 65_536,
            rescan_every: Duration::from_secs(5),
            pace: 1_024,
            deadline: Duration::from_secs(30),
            turns_per_visit: 32,
            chain_turns_max: 256,
            calls_per_key_max: 1_024,
            waiting_bytes_max: 64 << 20,
            batch_writes_max: 4_096,
            batch_bytes_max: 8 << 20,
            work_max: 1_024,
            resident_bytes_max: 32 << 20,
            evict_after: Duration::from_secs(5),
            payload_bytes_max: 1 << 20,
            commit_bytes_max: 4 << 20,
            commit_rows_max: 1_000,
            crashes_max: 8,
            probation: Duration::from_secs(60),
            build: 0,
            attempts_max: 5,
            retry: (Duration::from_secs(1), Duration::from_secs(60)),
            store_retry: (Duration::from_millis(10), Duration::from_secs(5)),
            remember_for: Duration::from_secs(24 * 60 * 60),
            sweep_every: Duration::from_secs(10),
            quick_habit: 16,
            settled_here_max: 8,
            forget_one_in: None,
        }
    }
}
