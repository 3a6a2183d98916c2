//! Every limit and interval of the kernel, with its default.

use std::{thread, time::Duration};

/// How a kernel is run. The defaults suit a single process on a single machine.
///
/// The fields are many because each limit is one field: a caller sets a limit by its name, without a map.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The name of the worker. Default: empty, and a random name is used.
    pub worker: String,
    /// The address of the worker, given to other workers. Default: empty.
    pub address: String,
    /// The most partitions that the worker owns. Default: all.
    pub partitions_max: u32,
    /// How long a lease lasts. Default: 15 s.
    pub lease: Duration,
    /// How often a lease is renewed. Default: 5 s.
    pub renew_every: Duration,
    /// Threads that take turns, write batches and read. Default: one more than there are processors, but at
    /// least 3 and at most 4.
    pub turn_threads: usize,
    /// Threads that may replace threads which the author's code blocks. Default: 8.
    pub replacement_threads_max: usize,
    /// How long one visit or one poll may take before its code is logged as blocking. A blocked kernel
    /// thread is replaced. Default: 500 ms.
    pub blocked_after: Duration,
    /// How far ahead alarms are kept in memory. Default: 60 s.
    pub horizon: Duration,
    /// The longest time for which the timer sleeps before it reads the time again. Default: 60 s.
    pub nap_max: Duration,
    /// The most alarms that are kept in memory. Default: 65,536.
    pub near_max: usize,
    /// How often the store is scanned for changes that hints missed. Default: 5 s.
    pub rescan_every: Duration,
    /// The most alarms and takeovers in progress at once. Default: 1,024.
    pub pace: usize,
    /// How long a caller waits if the call has no deadline. Default: 30 s.
    pub deadline: Duration,
    /// The most turns of a key before another key has a turn. Default: 32.
    pub turns_per_visit: usize,
    /// The most turns of an entity that wait for the writer together. Default: 256.
    pub chain_turns_max: usize,
    /// The most calls that wait for a single key. Default: 1,024.
    pub calls_per_key_max: usize,
    /// The most bytes of waiting calls. Default: 64 MiB.
    pub waiting_bytes_max: usize,
    /// The most entities in a batch. Default: 4,096.
    pub batch_writes_max: usize,
    /// The most bytes in a batch. Default: 8 MiB.
    pub batch_bytes_max: usize,
    /// The most pieces of work that run at once. Default: 1,024.
    pub work_max: usize,
    /// The most bytes of entities in memory. Default: 32 MiB. The allocator and the store take as much
    /// again.
    pub resident_bytes_max: usize,
    /// How long an entity must be unused before it leaves memory. Default: 5 s.
    pub evict_after: Duration,
    /// The most bytes of one payload. Default: 1 MiB.
    pub payload_bytes_max: usize,
    /// The most bytes of one commit. Default: 4 MiB.
    pub commit_bytes_max: usize,
    /// The most row changes of one commit. Default: 1,000.
    pub commit_rows_max: usize,
    /// How many deaths of the process with an entity are forgiven; the next one holds the entity. Default:
    /// 8.
    ///
    /// The first three deaths narrow the suspects down. Each further death follows a control in which the
    /// process lived without the entity. A death that has nothing to do with the entity falls into its
    /// trial, and not into its control, with a chance of 1 in 9 at most. So six in a row convict an
    /// innocent entity with a chance of 1 in 531,441.
    pub crashes_max: u8,
    /// How long a suspect runs until it is cleared. Default: 60 s. A control lasts between one and ten
    /// times as long.
    pub probation: Duration,
    /// Identifies the build of this program. A held entity resumes with another build or other options.
    /// Default: 0, which means not known.
    pub build: u64,
    /// How often a message, an alarm or an end of work is tried if its turn fails. Default: 5.
    pub attempts_max: u32,
    /// The shortest and the longest pause between these tries; the pause doubles. Default: 1 s and 60 s.
    pub retry: (Duration, Duration),
    /// The shortest and the longest pause between tries of a store that is down; the pause doubles, with
    /// jitter. Default: 10 ms and 5 s.
    pub store_retry: (Duration, Duration),
    /// How long replies are remembered for idempotency keys. Default: 24 h.
    pub remember_for: Duration,
    /// How often maintenance sweeps the store and looks for entities without a wake source. Default: 10 s.
    pub sweep_every: Duration,
    /// How many pieces of work of a definition must have ended at their first poll, one after another,
    /// before the next piece is polled on a kernel thread. Default: 16. `u32::MAX` disables such polls.
    pub quick_habit: u32,
    /// A batch with at most this many entities is settled by the thread that wrote it, so that a lone
    /// caller is answered at once. Of a larger batch each entity gets its verdict at its next visit.
    /// Default: 8.
    pub settled_here_max: usize,
    /// For tests: before a visit, handlers lose their memory with a chance of one in this number. Default:
    /// `None`.
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
            turn_threads: 1 + thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, 3)),
            replacement_threads_max: 8,
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
