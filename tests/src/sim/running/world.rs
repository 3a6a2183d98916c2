//! The world of one history: its store, its processes, its callers and its nemesis, from the first call to
//! the last check.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use drystone_runtime::store::Memory;

use super::{
    executor::{Executor, Group},
    process::Processes,
};
use crate::sim::{
    apps::Recorder,
    check::{Calls, Counters, Left, Takes},
    drawing::{
        drawn::Drawn,
        parameters::{PARTITIONS, Swarm},
        random::Chance,
        roster::{Cast, Number, Role},
    },
    faults::weather::Weather,
    recording::{
        ledger::Ledger,
        log::{Chronicle, lock},
        outbox::Outbox,
        witness::Witness,
    },
};

/// Everything of one history. The tasks of the history hold it; the world is dropped with the last task.
pub struct World {
    /// The seed of the history.
    pub seed: u64,
    /// The parameters drawn from the seed.
    pub swarm: Swarm,
    /// The members.
    pub cast: Arc<Cast>,
    /// The executor of all tasks.
    pub executor: Executor,
    /// The record of what happened.
    pub chronicle: Arc<Chronicle>,
    /// The one store, observed by the witness.
    pub witness: Arc<Witness>,
    /// The code that runs at the moment.
    pub ledger: Ledger,
    /// Calls of counters.
    pub counters: Counters,
    /// Calls of primitives.
    pub calls: Calls,
    /// What authors' code was given.
    pub recorder: Recorder,
    /// The messages of transactions.
    pub outbox: Outbox,
    /// The callers that left a semaphore.
    pub left: Left,
    /// Calls that were answered.
    pub takes: Takes,
    /// The processes.
    pub processes: Processes,
    /// The current faults of the whole store.
    pub weather: Weather,
    /// The group of the store's own tasks, with the store's clock.
    pub store: Group,
    /// The group of callers, nemesis and director, which is never killed.
    pub outside: Group,
    chance: Mutex<Chance>,
    calm: AtomicBool,
    clients: AtomicU32,
    crashes_left: AtomicU32,
    /// Whether the work that kills was mended.
    mended: AtomicBool,
}

impl World {
    /// Creates the world of a history, before anything has happened.
    pub fn new(drawn: Drawn, tracing: bool) -> Arc<Self> {
        let Drawn { seed, swarm, mut chance } = drawn;
        let executor = Executor::new(chance.fork(), swarm.pace);
        let (store, outside) = (executor.group(), executor.group());
        let chronicle = Arc::new(Chronicle::new(executor.clone(), tracing));
        let cast = Arc::new(Cast::new(&swarm.traffic));
        let witness = Arc::new(witness(&executor, store, &chronicle, &cast, guilty_one(&swarm, &cast)));
        Arc::new(Self {
            seed,
            cast,
            chronicle,
            witness,
            ledger: Ledger::default(),
            counters: Counters::default(),
            calls: Calls::default(),
            recorder: Recorder::default(),
            outbox: Outbox::default(),
            left: Left::default(),
            takes: Takes::default(),
            processes: Processes::default(),
            weather: Weather::default(),
            store,
            outside,
            chance: Mutex::new(chance),
            calm: AtomicBool::new(false),
            clients: AtomicU32::new(swarm.traffic.clients as u32),
            crashes_left: AtomicU32::new(swarm.blows.crashes),
            mended: AtomicBool::new(false),
            swarm,
            executor,
        })
    }

    /// Returns a random stream for one part of the world.
    pub fn chance(&self) -> Chance {
        lock(&self.chance).fork()
    }

    /// Whether this work kills the process. The guilty work is the first piece of the first
    /// worker's first job. Without a worker it is the first batch of a basket; without both the first item
    /// of mail; without all three the first step of an errand.
    pub fn guilty(&self, number: Number, work: &str) -> bool {
        let traffic = &self.swarm.traffic;
        let first = |role| self.cast.with(role).first() == Some(&number);
        // An entity that is bound again would have a first batch again, and would kill more often than the
        // checks allow.
        let basket = || traffic.workers == 0 && !traffic.destroys && work.ends_with("-flush/1") && first(Role::Basket);
        let item = || !traffic.destroys && work.ends_with("-process/1") && first(Role::Mail);
        let mail = || traffic.workers + traffic.baskets == 0 && item();
        let step = || {
            traffic.workers + traffic.baskets + traffic.mails == 0 && work.ends_with("-work#1") && first(Role::Errand)
        };
        !self.mended.load(Ordering::Relaxed)
            && traffic.guilty
            && (work == "job1/0" && first(Role::Worker) || basket() || mail() || step())
    }

    /// Mends the work that kills, as a person would.
    pub fn mend(&self) {
        self.mended.store(true, Ordering::Relaxed);
    }

    /// Whether no wall clock ever jumps. If none does, all processes agree when a lease ends.
    pub fn clocks_are_honest(&self) -> bool {
        self.swarm.blows.jumps == 0
    }

    /// Whether threads may stand still or polls take time. If so, code that would succeed may end too late.
    pub fn time_is_lost(&self) -> bool {
        let blows = &self.swarm.blows;
        blows.freezes + blows.thread_freezes + self.swarm.pace.tick_permille > 0
    }

    /// Whether nothing at all goes wrong in this history.
    pub fn is_healthy(&self) -> bool {
        let (blows, faults, traffic) = (&self.swarm.blows, &self.swarm.faults, &self.swarm.traffic);
        let struck = blows.crashes + blows.shutdowns + blows.jumps > 0 || self.time_is_lost();
        !struck && !traffic.guilty && !traffic.doom && faults.are_none()
    }

    /// Whether the faults have stopped.
    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Stops the faults.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.executor.thaw();
        self.chronicle.note(|| "calm".to_owned());
    }

    /// Registers that a caller has made its last call.
    pub fn client_is_done(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// The number of callers that are not done.
    pub fn clients_left(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    /// Takes one of the deaths that no entity is guilty of. Returns `false` if none is left.
    pub fn may_crash(&self) -> bool {
        let fewer = |left: u32| left.checked_sub(1);
        !self.is_calm() && self.crashes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }
}

/// The guilty entity, whose work kills its process, or `None`; see [`World::guilty`].
fn guilty_one(swarm: &Swarm, cast: &Cast) -> Option<Number> {
    let roles = [Role::Worker, Role::Basket, Role::Mail, Role::Errand];
    let first = roles.into_iter().find_map(|role| cast.with(role).first().copied());
    first.filter(|_| swarm.traffic.guilty)
}

fn witness(
    executor: &Executor,
    store: Group,
    chronicle: &Arc<Chronicle>,
    cast: &Arc<Cast>,
    guilty: Option<Number>,
) -> Witness {
    let clock = executor.clone();
    let memory = Arc::new(Memory::new(move || clock.wall(store), PARTITIONS));
    Witness::new(memory, executor.clone(), store, chronicle.clone(), cast.clone(), guilty)
}
