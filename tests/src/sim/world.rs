//! One history: its store, its processes, its callers and its nemesis, from the first call to the last check.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use drystone_runtime::store::Memory;

use super::{
    authors::Recorder,
    cast::{Cast, Number, Role},
    chance::Chance,
    check::{Calls, Counters, Left, Takes},
    chronicle::{Chronicle, lock},
    drawn::Drawn,
    executor::{Executor, Group},
    ledger::Ledger,
    outbox::Outbox,
    process::Processes,
    swarm::{PARTITIONS, Swarm},
    weather::Weather,
    witness::Witness,
};

/// Everything of one history. Tasks hold it; it is let go when they are.
pub struct World {
    /// What it was drawn from.
    pub seed: u64,
    /// What was drawn.
    pub swarm: Swarm,
    /// Who takes part.
    pub cast: Arc<Cast>,
    /// What runs it.
    pub executor: Executor,
    /// What happened.
    pub chronicle: Arc<Chronicle>,
    /// The one store, watched.
    pub witness: Arc<Witness>,
    /// What code runs at the moment.
    pub ledger: Ledger,
    /// Calls to counters.
    pub counters: Counters,
    /// Calls to primitives.
    pub calls: Calls,
    /// What authors' code was given.
    pub recorder: Recorder,
    /// What transactions send.
    pub outbox: Outbox,
    /// Who left a semaphore.
    pub left: Left,
    /// Calls that were answered.
    pub takes: Takes,
    /// The processes.
    pub processes: Processes,
    /// What the store suffers from at the moment.
    pub weather: Weather,
    /// The store's own tasks and clock.
    pub store: Group,
    /// Callers, nemesis and director: nobody kills them.
    pub outside: Group,
    chance: Mutex<Chance>,
    calm: AtomicBool,
    clients: AtomicU32,
    crashes_left: AtomicU32,
    /// The work that kills was mended.
    mended: AtomicBool,
}

impl World {
    /// The world of a history, before anything happened.
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

    /// A stream of chance for one part of the world.
    pub fn chance(&self) -> Chance {
        lock(&self.chance).fork()
    }

    /// Whether this piece of work kills its process: the first piece of the first worker's first job; without a worker
    /// the first batch of a basket; without both the first item of mail; without all three the first step of an errand.
    pub fn guilty(&self, number: Number, work: &str) -> bool {
        let traffic = &self.swarm.traffic;
        let first = |role| self.cast.with(role).first() == Some(&number);
        // One that is bound again would have a first batch again, and kill more often than is allowed for.
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

    /// A person mends the work that kills.
    pub fn mend(&self) {
        self.mended.store(true, Ordering::Relaxed);
    }

    /// Whether no wall clock ever jumped: then leases are over when everyone thinks so.
    pub fn clocks_are_honest(&self) -> bool {
        self.swarm.blows.jumps == 0
    }

    /// Whether threads may stand still, or polls take time: then code that ends well may end too late.
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

    /// The faults stop.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.executor.thaw();
        self.chronicle.note(|| "calm".to_owned());
    }

    /// A caller has made its last call.
    pub fn client_is_done(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many callers are not done.
    pub fn clients_left(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    /// Takes one of the deaths that are nobody's fault, if any is left.
    pub fn may_crash(&self) -> bool {
        let fewer = |left: u32| left.checked_sub(1);
        !self.is_calm() && self.crashes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }
}

/// The entity with the work that kills, if one has any: see [`World::guilty`].
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
