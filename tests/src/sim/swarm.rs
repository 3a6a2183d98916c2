//! What a history has and what befalls it, drawn from its seed before anything runs.
//!
//! A history with every fault at once tests little: the faults hide one another. So each seed first draws
//! which faults and features are on at all, then how often.

use std::time::Duration;

use drystone_runtime::Options;
use serde::{Deserialize, Serialize};

use super::{chance::Chance, executor::Pace};

/// The whole configuration of one history. It is printed with a seed that fails, and kept with a named history.
///
/// A kept history has no field that was added later: such a field reads as its default, which must mean that nothing of the kind happens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Swarm {
    /// The processes and how they are run.
    pub processes: Processes,
    /// The callers and what they ask.
    pub traffic: Traffic,
    /// What the store does to its callers.
    pub faults: Faults,
    /// What the nemesis does to the processes.
    pub blows: Blows,
    /// How time passes while there is something to do.
    pub pace: Pace,
    /// How long the chaos lasts.
    pub chaos: Duration,
}

/// The processes and how they are run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Processes {
    /// How many.
    pub count: usize,
    /// Turn loops of each.
    pub hands: usize,
    /// How many partitions one may own, of [`PARTITIONS`].
    pub partitions_max: u32,
    /// How long a lease lasts.
    pub lease: Duration,
    /// How often missed hints are looked for.
    pub rescan: Duration,
    /// How far ahead alarms are kept in memory.
    pub horizon: Duration,
    /// When something that kills is given up.
    pub crashes_max: u8,
    /// How often handlers forget.
    pub forget_one_in: Option<u64>,
    /// When work is polled where it is started.
    pub quick_habit: u32,
    /// See `Options::settled_here_max`.
    pub settled_here_max: usize,
    /// How many turns of a key stack on what is not durable.
    pub chain_turns_max: usize,
    /// How long an entity stays in memory that nothing uses.
    pub evict_after: Duration,
}

/// The callers and what they ask.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// How many callers.
    pub clients: usize,
    /// How many calls each makes.
    pub calls: usize,
    /// How many of a thousand carry an idempotency key.
    pub once_permille: u32,
    /// Longest pause between two calls of a caller.
    pub pause_ms: u64,
    /// Callers act, and code ends, at the same moments: what could race does.
    pub in_step: bool,
    /// Counters.
    pub counters: usize,
    /// Relays.
    pub relays: usize,
    /// Alarmists.
    pub alarmists: usize,
    /// Tickers.
    pub tickers: usize,
    /// Workers.
    pub workers: usize,
    /// Lines.
    pub lines: usize,
    /// Callers.
    pub callers: usize,
    /// Pulses.
    pub pulses: usize,
    /// Drips.
    pub drips: usize,
    /// Chimes.
    pub chimes: usize,
    /// Baskets.
    pub baskets: usize,
    /// Strict baskets.
    pub stricts: usize,
    /// Heaps.
    pub heaps: usize,
    /// Bells.
    pub bells: usize,
    /// Mails.
    pub mails: usize,
    /// Steps.
    pub steps: usize,
    /// Tallies.
    pub tallies: usize,
    /// Buffers are cleared now and then.
    pub clears: bool,
    /// Counters and primitives are destroyed now and then.
    pub destroys: bool,
    /// Some messages can never be taken.
    pub poison: bool,
    /// Some code fails, panics or hangs.
    pub failing: bool,
    /// One piece of work kills its process, always.
    pub guilty: bool,
    /// One message's turn kills its process, always.
    pub doom: bool,
    /// Semaphores.
    pub gates: usize,
    /// Workflows.
    pub errands: usize,
    /// Workflows that wait for what is published.
    pub listeners: usize,
    /// How many of those who wait for an event are looked at in one commit: by the one that publishes it, and by each that follows.
    pub topic_slices: (u32, u32),
    /// Runs are restarted now and then.
    pub restarts: bool,
    /// Runs are paused now and then.
    pub pauses: bool,
    /// How many of a thousand things that callers do are transactions beside all entities. Bookings send messages, too, if it is not 0.
    pub transactions: u32,
    /// Chests.
    pub chests: usize,
}

/// What the store does to its callers, each in so many of a thousand calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Faults {
    /// Others go on while it answers.
    pub yields: u32,
    /// It takes a while.
    pub slow: u32,
    /// How long a while, at most.
    pub slow_ms: u64,
    /// It answers with an error and does nothing.
    pub error_before: u32,
    /// It does it and answers with an error.
    pub error_after: u32,
    /// It answers with an error and does it later.
    pub applied_late: u32,
    /// Its caller dies before, in or after the call.
    pub crash: u32,
    /// It does not come back for longer than a lease.
    pub stall: u32,
    /// A hint is lost.
    pub hint_lost: u32,
    /// A hint comes twice.
    pub hint_doubled: u32,
    /// A hint comes late.
    pub hint_late: u32,
    /// Times when the disk is full.
    pub full: u32,
    /// Times when nothing answers.
    pub outages: u32,
    /// Another script spoils the transaction of this one, which is run again.
    pub spoilt: u32,
}

/// What the nemesis does to the processes: how often in the whole chaos.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Blows {
    /// Deaths that are nobody's fault, those at store calls included.
    pub crashes: u32,
    /// All of these come within so many milliseconds, if so.
    pub burst_ms: Option<u64>,
    /// Processes whose kernel is dropped without a shutdown.
    pub drops: u32,
    /// Orderly ends, each followed by a start.
    pub shutdowns: u32,
    /// Freezes of a whole process.
    pub freezes: u32,
    /// Freezes of one thread.
    pub thread_freezes: u32,
    /// Jumps of a wall clock, the store's included.
    pub jumps: u32,
    /// How far one jumps at most.
    pub jump_ms: u64,
}

/// The slices of topics in every app.
const SHIPPED_SLICES: (u32, u32) = (16, 200);

/// Partitions of the simulated store.
pub const PARTITIONS: u32 = 8;

impl Swarm {
    /// What this seed draws.
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

    /// The options that a process of this history is opened with.
    pub fn options(&self, process: usize, opening: u32) -> Options {
        let drawn = &self.processes;
        let mut options = Options::default();
        options.worker = format!("k{process}-{opening}");
        options.address = format!("k{process}");
        options.partitions_max = drawn.partitions_max;
        options.lease = drawn.lease;
        options.renew_every = drawn.lease / 3;
        options.hands = drawn.hands;
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
        // Together they must be able to own everything, or calm never comes.
        let least = PARTITIONS.div_ceil(count as u32);
        Self {
            count,
            hands: chance.between(1, 3) as usize,
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
    /// Whether there is anything that the primitives' dead letters could come from.
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
    /// Whether the store does nothing but its work.
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

/// One, in a third of all histories: a buffer needs many calls to show anything.
fn few(chance: &mut Chance) -> usize {
    usize::from(chance.permille(330))
}

fn some(chance: &mut Chance, most: u64) -> usize {
    if chance.permille(600) { chance.between(1, most) as usize } else { 0 }
}
