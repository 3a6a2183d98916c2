//! The settings of a world that is not started yet.

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use drystone_runtime::{Options, Registry, store::StoreError};

use super::{
    clock::Clock,
    machine::{
        Machine, Opening,
        executor::Executor,
        place::{Folder, Place},
    },
    trial::Trial,
    world::World,
};
use crate::{App, Error, Timestamp, app::registry, sql::Tables};

/// The interval of the kernel's invisible chores in a world: leases that nobody else wants, code that
/// blocks, rows to sweep, unused entities. At the usual intervals a year would need a hundred million
/// checks.
const SELDOM: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of a world that is not started yet: see [`World::memory`].
pub struct Setup<D> {
    executor: Executor,
    place: Result<Place, StoreError>,
    services: D,
    options: Options,
    is_shared: bool,
    patience: Duration,
    tables: Tables,
    trial: Option<Arc<Trial>>,
}

impl Setup<()> {
    pub(super) fn memory() -> Self {
        Self::new(|executor| Ok(Place::memory(executor)))
    }

    pub(super) fn sqlite() -> Self {
        Self::new(|_| Folder::new().map(Place::Own))
    }

    pub(super) fn sqlite_at(path: PathBuf) -> Self {
        Self::new(|_| Ok(Place::File(path)))
    }

    fn new(place: impl FnOnce(&Executor) -> Result<Place, StoreError>) -> Self {
        let executor = Executor::default();
        let place = place(&executor);
        let patience = Duration::from_secs(30);
        Self {
            executor,
            place,
            services: (),
            options: unhurried(),
            is_shared: false,
            patience,
            tables: Tables::default(),
            trial: None,
        }
    }

    /// The setup of a trial: in memory, unless the app needs SQL.
    pub(super) fn on_trial(trial: Arc<Trial>) -> Self {
        let mut setup = Self::memory();
        trial.adjust(&mut setup.options, &mut setup.patience);
        Self { trial: Some(trial), ..setup }
    }
}

/// Whether any code of the app runs in transactions.
fn has_scripts(registry: &Registry) -> bool {
    registry.iter().any(|definition| !definition.handler.scripts().is_empty())
}

fn unhurried() -> Options {
    let mut options = Options::default();
    options.lease = 100 * 365 * SELDOM;
    options.renew_every = SELDOM;
    options.blocked_after = 2 * SELDOM;
    options.rescan_every = SELDOM;
    options.sweep_every = SELDOM;
    options.evict_after = SELDOM;
    options.nap_max = SELDOM;
    options.horizon = 2 * SELDOM;
    options
}

impl<D: Send + Sync + 'static> Setup<D> {
    /// Sets the services, usually fakes. They survive when the process dies, like the systems that they
    /// stand for.
    pub fn services<S: Send + Sync + 'static>(self, services: S) -> Setup<S> {
        let Self { executor, place, options, is_shared, patience, tables, trial, .. } = self;
        Setup { executor, place, services, options, is_shared, patience, tables, trial }
    }

    /// Changes limits from their defaults. The kernel's own chores run once a day here, so that years pass
    /// fast.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Gives all primitives one key space, as the app's [`Builder`](crate::Builder::shared_keys) does.
    #[must_use]
    pub fn shared_keys(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Sets up tables of your own at every start, as the app's [`Builder`](crate::Builder::schema) does.
    /// They need a world on SQLite; a setup of [`crash_everywhere`](super::crash_everywhere) then is one.
    #[must_use]
    pub fn schema(mut self, statements: impl Into<String>) -> Self {
        self.tables.schema = Some(statements.into());
        self
    }

    /// Sets the migrations of your own tables, as the app's [`Builder`](crate::Builder::migrations) does.
    /// Each migration runs once in the life of the world.
    #[must_use]
    pub fn migrations<N: Into<String>, S: Into<String>>(mut self, list: impl IntoIterator<Item = (N, S)>) -> Self {
        self.tables.set_migrations(list);
        self
    }

    /// Begins at this time; the default is a day in 2023.
    #[must_use]
    pub fn starts_at(self, time: Timestamp) -> Self {
        self.executor.jump(time.as_millis() - self.executor.wall().0);
        self
    }

    /// Panics if the test waits for an answer and nothing moves for this long in real time; the default is
    /// 30 seconds.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Panics if one moment of the world takes this many polls and does not end; the default is 1,000,000.
    #[must_use]
    pub fn polls_max(self, polls_max: u64) -> Self {
        self.executor.set_polls_max(polls_max);
        self
    }

    /// Returns the clock of the world to be, for a fake that takes time.
    pub fn clock(&self) -> Clock {
        Clock::new(self.executor.clone())
    }

    /// Starts the app; await it. Panics if the app cannot be started: see [`try_start`](Self::try_start).
    pub fn start<A: App<D>>(self) -> Begin<World<A>> {
        let starting = self.starting::<A>();
        Begin(Box::pin(async move {
            match starting.await {
                Ok(world) => world,
                Err(error) => panic!("the world could not be started: {error}"),
            }
        }))
    }

    /// Starts the app, or returns why it cannot be started; await it.
    pub fn try_start<A: App<D>>(self) -> Begin<Result<World<A>, Error>> {
        Begin(Box::pin(self.starting::<A>()))
    }

    fn starting<A: App<D>>(self) -> impl Future<Output = Result<World<A>, Error>> + Send + use<A, D> {
        let Self { executor, place, services, options, is_shared, patience, tables, trial } = self;
        let registry = registry::<D, A>(services, is_shared);
        let needs_sql = tables.are_given() || registry.as_ref().is_ok_and(has_scripts);
        // The author of a trial did not choose a store, so the trial gets a store on which the app can
        // start.
        let place = if trial.is_some() && needs_sql { Folder::new().map(Place::Own) } else { place };
        async move {
            let opening = Opening { options, tables, is_shared };
            let machine = Machine::new(executor, place?, opening, patience, trial);
            World::start(machine, registry?).await
        }
    }
}

/// A starting world: await it.
///
/// This is not an `async fn`, because the compiler would then report a missing service three times.
#[must_use = "a world does not start until it is awaited"]
pub struct Begin<T>(Pin<Box<dyn Future<Output = T> + Send>>);

impl<T> IntoFuture for Begin<T> {
    type Output = T;
    type IntoFuture = Pin<Box<dyn Future<Output = T> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        self.0
    }
}

impl<T> fmt::Debug for Begin<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Begin")
    }
}

impl<D> fmt::Debug for Setup<D> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Setup").field("options", &self.options).finish_non_exhaustive()
    }
}
