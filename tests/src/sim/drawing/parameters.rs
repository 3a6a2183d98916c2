//! The parameters of a history, drawn from its seed before anything runs.
//!
//! A history with every fault at once tests little, because the faults hide one another. So each seed first
//! draws which faults and features are on at all, then how often they occur.

use std::time::Duration;

use drystone_runtime::Options;
use serde::{Deserialize, Serialize};

use super::random::Chance;
use crate::sim::running::executor::Pace;

/// The whole configuration of one history. It is printed with a failing seed and kept with a named history.
///
/// A kept history lacks the fields that were added later. They take their defaults, so the default of a new
/// field must mean that nothing new happens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Swarm {
    /// The processes and their options.
    pub processes: Processes,
    /// The callers and their calls.
    pub traffic: Traffic,
    /// The faults of the store.
    pub faults: Faults,
    /// The strikes of the nemesis against the processes.
    pub blows: Blows,
    /// How time passes while tasks are ready to run.
    pub pace: Pace,
    /// The length of the chaos.
    pub chaos: Duration,
}

/// The processes and their options.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Processes {
    /// The number of processes.
    pub count: usize,
    /// The number of turn loops per process.
    pub turn_threads: usize,
    /// How many of the [`PARTITIONS`] one process may own.
    pub partitions_max: u32,
    /// The length of a lease.
    pub lease: Duration,
    /// The interval at which a process scans for missed hints.
    pub rescan: Duration,
    /// How far ahead alarms are kept in memory.
    pub horizon: Duration,
    /// The number of forgiven deaths before an entity is held.
    pub crashes_max: u8,
    /// How often handlers drop their memory: before every visit with a probability of 1 in this number.
    pub forget_one_in: Option<u64>,
    /// `Options::quick_habit`: when work is polled by the thread that starts it.
    pub quick_habit: u32,
    /// See `Options::settled_here_max`.
    pub settled_here_max: usize,
    /// How many turns of a key may stack on turns that are not durable yet.
    pub chain_turns_max: usize,
    /// How long an unused entity stays in memory.
    pub evict_after: Duration,
}

/// The callers and their calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// The number of callers.
    pub clients: usize,
    /// The number of calls per caller.
    pub calls: usize,
    /// How many of a thousand calls carry an idempotency key.
    pub once_permille: u32,
    /// The longest pause between two calls of a caller.
    pub pause_ms: u64,
    /// Whether callers act and code ends at the same moments, so that races occur.
    pub in_step: bool,
    /// The number of counters.
    pub counters: usize,
    /// The number of relays.
    pub relays: usize,
    /// The number of alarmists.
    pub alarmists: usize,
    /// The number of tickers.
    pub tickers: usize,
    /// The number of workers.
    pub workers: usize,
    /// The number of lines.
    pub lines: usize,
    /// The number of entities with the role `Caller`.
    pub callers: usize,
    /// The number of pulses.
    pub pulses: usize,
    /// The number of drips.
    pub drips: usize,
    /// The number of chimes.
    pub chimes: usize,
    /// The number of baskets.
    pub baskets: usize,
    /// The number of strict baskets.
    pub stricts: usize,
    /// The number of heaps.
    pub heaps: usize,
    /// The number of bells.
    pub bells: usize,
    /// The number of mails.
    pub mails: usize,
    /// The number of steps.
    pub steps: usize,
    /// The number of tallies.
    pub tallies: usize,
    /// Whether callers sometimes clear buffers.
    pub clears: bool,
    /// Whether callers sometimes destroy counters and primitives.
    pub destroys: bool,
    /// Whether some messages can never be taken.
    pub poison: bool,
    /// Whether some code fails, panics or hangs.
    pub failing: bool,
    /// Whether one piece of work always kills its process.
    pub guilty: bool,
    /// Whether the turn of one message always kills its process.
    pub doom: bool,
    /// The number of semaphores.
    pub gates: usize,
    /// The number of workflows.
    pub errands: usize,
    /// The number of workflows that wait for published events.
    pub listeners: usize,
    /// How many watchers of an event one commit handles: the commit that publishes the event, and each
    /// later slice.
    pub topic_slices: (u32, u32),
    /// Whether callers sometimes restart runs.
    pub restarts: bool,
    /// Whether callers sometimes pause runs.
    pub pauses: bool,
    /// How many of a thousand actions of a caller are transactions from outside any entity. If this is not
    /// 0, bookings send messages, too.
    pub transactions: u32,
    /// The number of chests.
    pub chests: usize,
}

/// The faults of the store. Each number is a share of a thousand calls, except where noted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Faults {
    /// Calls during which the store lets the remaining tasks run.
    pub yields: u32,
    /// Slow calls.
    pub slow: u32,
    /// The longest delay of a slow call, in milliseconds.
    pub slow_ms: u64,
    /// Calls that return an error and do nothing.
    pub error_before: u32,
    /// Calls that take effect and return an error.
    pub error_after: u32,
    /// Calls that return an error and take effect later.
    pub applied_late: u32,
    /// Calls whose caller dies before, during or after them.
    pub crash: u32,
    /// Calls that take longer than a lease.
    pub stall: u32,
    /// Lost hints.
    pub hint_lost: u32,
    /// Doubled hints.
    pub hint_doubled: u32,
    /// Late hints.
    pub hint_late: u32,
    /// How often the disk is full for a while, in the whole chaos.
    pub full: u32,
    /// How often the store is away for a while, in the whole chaos.
    pub outages: u32,
    /// Transactions that are spoilt by another script and run again.
    pub spoilt: u32,
}

/// The strikes of the nemesis. Each number is a count for the whole chaos, except where noted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Blows {
    /// Deaths that no entity is guilty of, including those during store calls.
    pub crashes: u32,
    /// If set, all of these deaths come within so many milliseconds.
    pub burst_ms: Option<u64>,
    /// Kernels that are dropped without a shutdown.
    pub drops: u32,
    /// Orderly shutdowns, each followed by a start.
    pub shutdowns: u32,
    /// Freezes of a whole process.
    pub freezes: u32,
    /// Freezes of one thread.
    pub thread_freezes: u32,
    /// Jumps of a wall clock, either a process's or the store's.
    pub jumps: u32,
    /// The longest jump, in milliseconds.
    pub jump_ms: u64,
}

/// The slice sizes of the shipped topics.
const SHIPPED_SLICES: (u32, u32) = (16, 200);

/// The number of partitions of the simulated store.
pub const PARTITIONS: u32 = 8;

impl Swarm {
    /// Draws the parameters.
    pub fn draw(chance: &mut Chance) -> Self {
        let traffic = Traffic::draw(chance);
        let processes = Processes::draw(chance);
        let faults = Faults::draw(chance);
        let blows = Blows::draw(chance, &processes);
        let pace = Pace {
            tick_permille: if chance.coin() { chance.pick(&[1, 10, 50]) } else { 0 },
            late_stop_permille: if chance.coin() { 700 } else { 0 },
        };
        let chaos = Duration::from_millis(chance.between(500, 6_000));
        Self { processes, traffic, faults, blows, pace, chaos }
    }

    /// The options of a process in this history.
    pub fn options(&self, process: usize, opening: u32) -> Options {
        let drawn = &self.processes;
        let mut options = Options::default();
        options.worker = format!("k{process}-{opening}");
        options.address = format!("k{process}");
        options.partitions_max = drawn.partitions_max;
        options.lease = drawn.lease;
        options.renew_every = drawn.lease / 3;
        options.turn_threads = drawn.turn_threads;
        options.horizon = drawn.horizon;
        options.rescan_every = drawn.rescan;
        options.deadline = Duration::from_secs(4);
        options.chain_turns_max = drawn.chain_turns_max;
        options.evict_after = drawn.evict_after;
        options.crashes_max = drawn.crashes_max;
        options.probation = Duration::from_secs(2);
        options.attempts_max = 3;
        options.retry = (Duration::from_millis(50), Duration::from_millis(400));
        options.store_retry = (Duration::from_millis(10), Duration::from_millis(300));
        options.remember_for = Duration::from_secs(24 * 60 * 60);
        options.sweep_every = Duration::from_secs(2);
        options.forget_one_in = drawn.forget_one_in;
        options.quick_habit = drawn.quick_habit;
        options.settled_here_max = drawn.settled_here_max;
        options
    }
}

impl Processes {
    fn draw(chance: &mut Chance) -> Self {
        let count = chance.pick(&[1, 1, 2, 2, 3, 4]);
        // Together the processes must be able to own all partitions, or the history never comes to rest.
        let least = PARTITIONS.div_ceil(count as u32);
        Self {
            count,
            turn_threads: chance.between(1, 3) as usize,
            partitions_max: chance.between(least.into(), PARTITIONS.into()) as u32,
            lease: Duration::from_millis(chance.pick(&[900, 1_500, 3_000])),
            rescan: Duration::from_millis(chance.pick(&[200, 500, 1_000])),
            horizon: Duration::from_millis(chance.pick(&[300, 1_000, 5_000])),
            crashes_max: chance.between(6, 8) as u8,
            forget_one_in: chance.coin().then(|| chance.between(1, 5)),
            chain_turns_max: chance.pick(&[1, 3, 256]),
            evict_after: Duration::from_millis(chance.pick(&[0, 100, 1_000, 5_000])),
            quick_habit: chance.pick(&[0, 1, 3, u32::MAX]),
            settled_here_max: chance.pick(&[0, 1, 8]),
        }
    }
}

impl Traffic {
    /// Whether any member can produce dead letters of primitives.
    pub fn has_letters(&self) -> bool {
        self.baskets
            + self.chests
            + self.stricts
            + self.heaps
            + self.mails
            + self.steps
            + self.tallies
            + self.errands
            + self.listeners
            > 0
    }

    fn draw(chance: &mut Chance) -> Self {
        let transactions = chance.pick(&[0, 0, 50, 200, 600]);
        Self {
            clients: chance.between(1, 5) as usize,
            calls: chance.between(4, 24) as usize,
            once_permille: chance.pick(&[0, 500, 1000]),
            pause_ms: chance.pick(&[0, 5, 50, 300]),
            in_step: chance.permille(300),
            counters: chance.between(1, 4) as usize,
            relays: some(chance, 4),
            alarmists: some(chance, 2),
            tickers: some(chance, 2),
            workers: some(chance, 3),
            lines: some(chance, 1),
            callers: some(chance, 3),
            pulses: few(chance),
            drips: few(chance),
            chimes: few(chance),
            baskets: few(chance),
            stricts: few(chance),
            heaps: few(chance),
            bells: few(chance),
            mails: few(chance),
            steps: few(chance),
            tallies: few(chance),
            clears: chance.permille(300),
            destroys: chance.coin(),
            poison: chance.coin(),
            failing: chance.coin(),
            guilty: chance.permille(200),
            doom: chance.permille(100),
            gates: few(chance),
            errands: if chance.permille(350) { chance.between(1, 5) as usize } else { 0 },
            listeners: if chance.permille(250) { chance.between(2, 10) as usize } else { 0 },
            topic_slices: chance.pick(&[(1, 1), (1, 1), (2, 3), SHIPPED_SLICES]),
            restarts: chance.coin(),
            pauses: chance.permille(300),
            transactions,
            chests: if transactions > 0 { usize::from(chance.coin()) } else { 0 },
        }
    }
}

impl Faults {
    /// Whether the store has no faults at all.
    pub fn are_none(&self) -> bool {
        let errors = self.error_before + self.error_after + self.applied_late + self.crash;
        let delays = self.slow + self.stall + self.full + self.outages;
        errors + delays + self.hint_lost + self.hint_late == 0
    }

    fn draw(chance: &mut Chance) -> Self {
        let yields = chance.pick(&[0, 200, 1000]);
        if chance.permille(200) {
            return Self { yields, ..Self::default() };
        }
        let mut share = |most: &[u32]| if chance.permille(350) { chance.pick(most) } else { 0 };
        Self {
            yields,
            slow: share(&[50, 300, 900]),
            slow_ms: u64::from(share(&[5, 50, 400])) + 1,
            error_before: share(&[10, 50, 200]),
            error_after: share(&[10, 50, 200]),
            applied_late: share(&[10, 50]),
            crash: share(&[2, 10, 40]),
            stall: share(&[2, 10]),
            hint_lost: share(&[100, 500, 1000]),
            hint_doubled: share(&[100, 500]),
            hint_late: share(&[100, 500]),
            full: share(&[1, 2]),
            outages: share(&[1, 2]),
            spoilt: share(&[100, 500]),
        }
    }
}

impl Blows {
    fn draw(chance: &mut Chance, processes: &Processes) -> Self {
        let crashes_max = u64::from(processes.crashes_max);
        let storms = chance.permille(150);
        let burst_ms = (storms && chance.coin()).then(|| chance.pick(&[500, 2_000, 4_000]));
        let mut some = |most: u64| if chance.permille(400) { chance.between(1, most) as u32 } else { 0 };
        Self {
            crashes: if storms { 20 + some(20) } else { some(crashes_max) },
            burst_ms,
            drops: some(2),
            shutdowns: some(3),
            freezes: some(2),
            thread_freezes: some(4),
            jumps: some(3),
            jump_ms: [100, 2_000, 3_600_000][some(3).saturating_sub(1) as usize],
        }
    }
}

/// Returns 1 in a third of all histories, otherwise 0. A buffer needs many calls to show anything, so there
/// is never a second one.
fn few(chance: &mut Chance) -> usize {
    usize::from(chance.permille(330))
}

fn some(chance: &mut Chance, most: u64) -> usize {
    if chance.permille(600) { chance.between(1, most) as usize } else { 0 }
}
