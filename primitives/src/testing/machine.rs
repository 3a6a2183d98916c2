//! The machine below a world: the parts that outlast a process, and the process that runs on them.

pub(crate) mod driver;
pub(crate) mod executor;
pub(crate) mod patience;
pub(crate) mod place;
pub(crate) mod relay;
pub(crate) mod running;
pub(crate) mod sleep;

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use drystone_runtime::{
    Kernel, Options, Registry,
    kernel::{Event, Report},
    store::{Counting, StoreCounts},
};

use self::{
    executor::{Executor, Process},
    place::Place,
    relay::Relay,
};
use super::{store::Gate, trial::Trial};
use crate::{Error, app::key_space, sql::Tables};

/// The machine. Dropping the machine ends its process and all tasks.
pub(super) struct Machine(Arc<Hardware>);

/// The parts of the machine, as its tasks see them.
pub(super) struct Hardware {
    pub(super) executor: Executor,
    pub(super) relay: Relay,
    store: Arc<Counting<Gate>>,
    pub(super) opening: Opening,
    events: Arc<Mutex<Vec<Event>>>,
    life: Mutex<Option<Life>>,
    /// The app that runs on the machine, for the next start.
    registry: Mutex<Registry>,
    trial: Option<Arc<Trial>>,
    /// The last field, because files must be closed before their folder is removed.
    place: Place,
}

/// The settings with which every process is started.
pub(super) struct Opening {
    pub(super) options: Options,
    pub(super) tables: Tables,
    pub(super) is_shared: bool,
}

/// One life of the process.
#[derive(Clone)]
pub(super) struct Life {
    pub(super) process: Process,
    pub(super) kernel: Kernel,
    pub(super) report: Report,
}

impl Machine {
    pub(super) fn new(
        executor: Executor,
        place: Place,
        opening: Opening,
        patience: Duration,
        trial: Option<Arc<Trial>>,
    ) -> Self {
        let relay = Relay::new(executor.clone(), patience, trial.clone());
        let store = Arc::new(Counting::new(Gate::new(executor.clone(), trial.clone())));
        let (events, life, registry) = (Arc::default(), Mutex::default(), Mutex::default());
        let hardware = Arc::new(Hardware { executor, relay, store, opening, events, life, registry, trial, place });
        if let Some(trial) = &hardware.trial {
            hardware.relay.attend(revive(trial.clone(), Arc::downgrade(&hardware)));
        }
        Self(hardware)
    }

    /// Starts a process, after killing the one before.
    pub(super) async fn start(&self, registry: Registry) -> Result<(), Error> {
        *self.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        let hardware = self.0.clone();
        self.relay.ask(async move { hardware.open().await }).await.unwrap_or(Err(Error::Closing))?;
        // Ten seconds after every opening the thread `maintenance` looks for entities whose definition has
        // changed. Here the thread sleeps for a day and must be woken.
        self.executor.rouse("maintenance");
        self.relay.settle().await;
        Ok(())
    }
}

impl Deref for Machine {
    type Target = Hardware;

    fn deref(&self) -> &Hardware {
        &self.0
    }
}

impl Hardware {
    /// Opens the store with a new process, after killing the one before. Runs in a task of the machine.
    async fn open(&self) -> Result<(), Error> {
        self.kill();
        let opened = self.place.open(&self.executor)?;
        key_space::choose(&*opened, self.opening.is_shared).await?;
        self.opening.tables.apply(&*opened).await?;
        self.gate().open(opened);
        let process = self.executor.process();
        let driver = Arc::new(self.executor.driver(process));
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (kernel, report) = Kernel::open(self.store.clone(), registry, driver, self.opening.options.clone()).await?;
        attend(&self.executor, process, kernel.clone(), self.events.clone(), self.trial.clone());
        self.relay.set_kernel(Some((process, kernel.clone())));
        *self.life() = Some(Life { process, kernel, report });
        Ok(())
    }

    /// Kills the process, if there is one: all its tasks are gone, and the store is as it was.
    pub(super) fn kill(&self) {
        let life = self.life().clone();
        if let Some(life) = life {
            self.executor.kill(life.process);
            self.executor.bury();
        }
        self.gate().close();
    }

    pub(super) fn is_dead(&self) -> bool {
        !self.alive().is_some_and(|life| self.executor.is_alive(life.process))
    }

    /// Returns the present life of the process, or the last.
    pub(super) fn alive(&self) -> Option<Life> {
        self.life().clone()
    }

    pub(super) fn gate(&self) -> &Gate {
        self.store.inner()
    }

    pub(super) fn counts(&self) -> StoreCounts {
        self.store.counts()
    }

    pub(super) fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn life(&self) -> MutexGuard<'_, Option<Life>> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        self.relay.set_kernel(None);
        self.executor.clear();
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Machine").field("executor", &self.executor).field("is_dead", &self.is_dead()).finish()
    }
}

/// Starts a process again that a trial has killed, as a supervisor would.
async fn revive(trial: Arc<Trial>, hardware: Weak<Hardware>) {
    loop {
        trial.death().await;
        let Some(hardware) = hardware.upgrade() else { return };
        let opened = hardware.open().await;
        trial.returns(match opened {
            Ok(()) => "the process is started again".to_owned(),
            Err(error) => format!("the process cannot be started again: {error}"),
        });
        hardware.executor.rouse("maintenance");
    }
}

/// Starts two tasks that live as long as the process: one records its events, and the other abandons its
/// kernel when the process dies.
fn attend(
    executor: &Executor,
    process: Process,
    kernel: Kernel,
    events: Arc<Mutex<Vec<Event>>>,
    trial: Option<Arc<Trial>>,
) {
    let mut listener = kernel.listen();
    let listening = async move {
        while let Some(event) = listener.next().await {
            if let Some(trial) = &trial {
                trial.told(&event);
            }
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    };
    let dying = async move {
        let _kernel = Dying(kernel);
        std::future::pending::<()>().await;
    };
    std::mem::forget(executor.spawn_named(process, "attendant", Box::pin(listening)));
    std::mem::forget(executor.spawn_named(process, "attendant", Box::pin(dying)));
}

/// Dropped with its process, so that no caller outside waits for the process any longer.
struct Dying(Kernel);

impl Drop for Dying {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
