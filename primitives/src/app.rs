//! A running app: the store, the kernel over it, and the typed client.

pub(crate) mod build;
pub(crate) mod definitions;
pub(crate) mod file_wait;
pub(crate) mod key_space;
pub(crate) mod registrar;
pub(crate) mod services;

use std::{fmt, marker::PhantomData, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use drystone_runtime::{
    Driver, Kernel, Options, Registry, Store,
    driver::TokioDriver,
    kernel::{Explain, Report},
    store::{Memory, StoreError, StoreErrorKind},
};

use self::definitions::Definitions;
use crate::{
    Address, App, CallError, Desk, Error, Primitives, Registrar, Timestamp, Transaction,
    client::{entities::Entities, events::Events, view::View},
    sql::Tables,
    system::dead_letters::DeadLetters,
};

/// A running app. Begin with [`Runtime::sqlite`].
///
/// Dropping the runtime and all its clients without a [`shutdown`](Self::shutdown) has the effect of a
/// shutdown that gives work no time: running code is dropped, the batch in flight is finished, and nothing
/// counts as a crash (R2). Everything resumes when the store is opened again.
pub struct Runtime<A = ()> {
    kernel: Kernel,
    /// The driver, if the runtime made it: the runtime then stops the driver at shutdown.
    own_driver: Option<Arc<TokioDriver>>,
    report: Report,
    definitions: Definitions,
    is_shared: bool,
    app: PhantomData<fn() -> A>,
}

impl Runtime<()> {
    /// An app whose state lives in one SQLite file. The file is created if it does not exist.
    pub fn sqlite(path: impl Into<PathBuf>) -> Builder<()> {
        Builder::new(Place::Sqlite { path: path.into(), wait: Duration::ZERO })
    }

    /// An app whose state lives in memory and is lost when the app ends.
    pub fn memory() -> Builder<()> {
        Builder::new(Place::Memory)
    }

    /// An app over any [`Store`].
    pub fn store(store: Arc<dyn Store>) -> Builder<()> {
        Builder::new(Place::Store(store))
    }
}

/// The settings of an app that is not started yet.
pub struct Builder<D> {
    place: Place,
    services: D,
    options: Options,
    driver: Option<Arc<dyn Driver>>,
    is_shared: bool,
    tables: Tables,
}

enum Place {
    Sqlite { path: PathBuf, wait: Duration },
    Memory,
    Store(Arc<dyn Store>),
}

impl Place {
    async fn open(self, driver: &Arc<dyn Driver>) -> Result<Arc<dyn Store>, Error> {
        Ok(match self {
            Self::Sqlite { path, wait } => Arc::new(self::file_wait::open(&path, wait, &**driver).await?),
            Self::Memory => {
                let driver = driver.clone();
                Arc::new(Memory::new(move || driver.now(), 1))
            }
            Self::Store(store) => store,
        })
    }
}

impl Builder<()> {
    fn new(place: Place) -> Self {
        Self {
            place,
            services: (),
            options: Options::default(),
            driver: None,
            is_shared: false,
            tables: Tables::default(),
        }
    }
}

impl<D: Send + Sync + 'static> Builder<D> {
    /// Sets the services: a struct with `#[derive(Services)]`.
    pub fn services<S: Send + Sync + 'static>(self, services: S) -> Builder<S> {
        let Self { place, options, driver, is_shared, tables, .. } = self;
        Builder { place, services, options, driver, is_shared, tables }
    }

    /// Changes limits and intervals from their defaults.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Gives all primitives one key space, so that a key belongs to one primitive: if there is a cart `"7"`,
    /// there cannot be a user `"7"` (E2). By default each primitive has keys of its own.
    ///
    /// A new store records the choice. A store with the other choice is not opened: [`Error::OtherKeys`]
    /// says which choice the store has. Files of schema version 1 have shared keys, unless the app chose
    /// separate ones.
    #[must_use]
    pub fn shared_keys(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Sets up tables of your own in the same file. The statements (`CREATE TABLE IF NOT EXISTS ..`) run in
    /// one transaction at every start, after the [`migrations`](Self::migrations) and before anything else.
    /// See [`sql`](crate::sql).
    #[must_use]
    pub fn schema(mut self, statements: impl Into<String>) -> Self {
        self.tables.schema = Some(statements.into());
        self
    }

    /// Sets the migrations of your own tables: names and statements, in order. Each migration runs once in
    /// the life of the file, in one transaction with the record that it was applied. Migrations run before
    /// `schema` and before anything else.
    ///
    /// The start is refused if an applied migration was changed, is missing, or has moved: add new
    /// migrations to the end of the list.
    ///
    /// ```no_run
    /// # drystone::testing::block_on(async {
    /// # #[derive(Default, serde::Serialize, serde::Deserialize)] struct Note;
    /// # #[drystone::primitive(object)] impl Note {}
    /// # #[derive(drystone::Primitives)] struct App { note: Note }
    /// let app = drystone::Runtime::sqlite("app.db")
    ///     .migrations([
    ///         ("0001_ledger", "CREATE TABLE ledger (cents INTEGER NOT NULL)"),
    ///         ("0002_names", "ALTER TABLE ledger ADD COLUMN name TEXT"),
    ///     ])
    ///     .start::<App>()
    ///     .await
    ///     .unwrap();
    /// # drop(app);
    /// # });
    /// ```
    #[must_use]
    pub fn migrations<N: Into<String>, S: Into<String>>(mut self, list: impl IntoIterator<Item = (N, S)>) -> Self {
        self.tables.set_migrations(list);
        self
    }

    /// Waits up to `limit` for another process that has the file open, instead of failing at once. A rolling
    /// restart needs this, because the new process starts while the old one ends. The setting has no effect
    /// on other stores.
    ///
    /// The file is checked twenty times a second. After `limit` the error has the kind
    /// [`Locked`](crate::runtime::store::StoreErrorKind::Locked) and names the process that has the file.
    ///
    /// ```no_run
    /// # use drystone::{Primitives, Runtime, d, primitive};
    /// # #[derive(Default, serde::Serialize, serde::Deserialize)]
    /// # struct Cart;
    /// # #[primitive(object)]
    /// # impl Cart {}
    /// # #[derive(Primitives)]
    /// # struct App { cart: Cart }
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let runtime = Runtime::sqlite("app.db").wait_for_file(d!("30s")).start::<App>().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn wait_for_file(mut self, limit: Duration) -> Self {
        if let Place::Sqlite { wait, .. } = &mut self.place {
            *wait = limit;
        }
        self
    }

    /// Sets the driver: the clocks, threads and tasks of the app.
    #[must_use]
    pub fn driver(mut self, driver: Arc<dyn Driver>) -> Self {
        self.driver = Some(driver);
        self
    }

    /// Opens the store and resumes everything in it. Await the result.
    pub fn start<A: App<D>>(self) -> Start<A> {
        let registry = registry::<D, A>(self.services, self.is_shared);
        let (place, mut options, driver, is_shared) = (self.place, self.options, self.driver, self.is_shared);
        if options.build == 0 {
            options.build = self::build::of_this_program();
        }
        let tables = self.tables;
        Start(Box::pin(async move {
            let registry = registry?;
            let definitions = Definitions::of(&registry);
            let own_driver = if driver.is_none() { Some(real_driver()?) } else { None };
            let driver = driver.or_else(|| own_driver.clone().map(|own| own as Arc<dyn Driver>));
            let driver = driver.expect("one was handed in, or made");
            let store = place.open(&driver).await?;
            key_space::choose(&*store, is_shared).await?;
            tables.apply(&*store).await?;
            let (kernel, report) = Kernel::open(store, registry, driver, options).await?;
            Ok(Runtime { kernel, own_driver, report, definitions, is_shared, app: PhantomData })
        }))
    }
}

/// The registry of an app with these services, with the built-in definitions (dead letters and topics)
/// added.
pub(crate) fn registry<D: Send + Sync + 'static, A: App<D>>(services: D, is_shared: bool) -> Result<Registry, Error> {
    let mut registrar = Registrar::new(services, is_shared);
    A::register(&mut registrar);
    Ok(crate::system::dead_letters::registered(crate::system::topics::registered(registrar.finish()?)))
}

fn real_driver() -> Result<Arc<TokioDriver>, Error> {
    let failed = |error: std::io::Error| StoreError::new(StoreErrorKind::Unavailable, error.to_string());
    Ok(Arc::new(TokioDriver::new().map_err(failed)?))
}

/// A starting app: await it.
#[must_use = "an app does not start until it is awaited"]
pub struct Start<A>(Pin<Box<dyn Future<Output = Result<Runtime<A>, Error>> + Send>>);

impl<A> IntoFuture for Start<A> {
    type Output = Result<Runtime<A>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        self.0
    }
}

impl<A: Primitives> Runtime<A> {
    /// Returns the typed client: one method per primitive.
    pub fn client(&self) -> A::Client {
        A::client(self.desk())
    }

    fn desk(&self) -> Desk {
        Desk::outside(self.kernel.clone(), self.is_shared)
    }

    /// Returns the report of what was found when the store was opened (R1).
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Explains what a key of the named primitive waits for: `runtime.explain("cart", "7")`.
    ///
    /// An unknown name is an error that lists the names of the app (E9). A parked entity is found by its
    /// stored name, even if its primitive is not registered any more (E10). With [shared
    /// keys](Builder::shared_keys), a key that belongs to another primitive is [`Error::TypeMismatch`].
    pub async fn explain(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Explain, Error> {
        self.address(primitive, key.as_ref()).await?.explain().await
    }

    /// Returns everything stored under a key of the named primitive; `None` if the key is unbound. Names are
    /// looked up as in [`explain`](Self::explain).
    pub async fn view(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<Option<View>, Error> {
        self.address(primitive, key.as_ref()).await?.view().await
    }

    /// Resumes a parked entity, once the cause is mended. Returns `false` if the entity was not parked.
    /// Names are looked up as in [`explain`](Self::explain).
    pub async fn unpark(&self, primitive: &str, key: impl AsRef<[u8]>) -> Result<bool, Error> {
        self.address(primitive, key.as_ref()).await?.unpark().await
    }

    async fn address(&self, primitive: &str, key: &[u8]) -> Result<Address, Error> {
        self.definitions.address(&self.desk(), primitive, key).await
    }

    /// Lists entities, one page at a time (R6).
    pub fn entities(&self) -> Entities<A> {
        Entities::new(self.desk(), self.definitions.clone())
    }

    /// Returns the dead letters: messages, batches, items, events and last states that could not be handled
    /// (D3).
    pub fn dead_letters(&self) -> DeadLetters {
        DeadLetters::new(self.desk(), self.definitions.clone())
    }

    /// Returns a stream of all lifecycle events from now on (E15).
    pub fn events(&self) -> Events {
        Events::new(self.kernel.listen())
    }

    /// Calls an action by its name, with the JSON array of its parameters (`null` if it has none). Returns
    /// the answer as JSON.
    ///
    /// The author's own error is [`Error::Failed`], as JSON text; a refusal by the primitive itself is
    /// [`Error::Declined`]. An unknown name is refused with a list of the known names, and nothing is stored
    /// (E9).
    pub async fn call(
        &self,
        primitive: &str,
        key: impl AsRef<[u8]>,
        action: &str,
        params: serde_json::Value,
    ) -> Result<serde_json::Value, Error> {
        self.definitions.ask(&self.desk(), primitive, key.as_ref(), action, &params).await
    }

    /// Runs code in a transaction on tables of your own, beside the workflows that write the same tables
    /// (W6). If the code returns an error, nothing it wrote is kept.
    ///
    /// The code may run more than once; what it wrote is kept once. If the store fails, this call returns
    /// the store's error, and the writes may have been kept. No other write can happen while the code runs,
    /// so the code has ten seconds at most.
    pub async fn transaction<T: Send + 'static, E: Send + 'static>(
        &self,
        code: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<T, CallError<E>> {
        crate::sql::beside(&self.kernel, code).await
    }

    /// Returns Drystone's time, which never goes back (A5).
    pub fn now(&self) -> Timestamp {
        self.kernel.now().into()
    }

    /// Returns the untyped kernel below the app.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Shuts down in order (R2): no new calls or alarms are taken, running code gets `limit` to end, and
    /// nothing counts as a crash.
    ///
    /// When this returns, the file is free and the runtime's threads have ended, even if clients, permits or
    /// event streams still exist: calls get [`Error::Closing`], and streams end. A second call returns when
    /// the first has. See [`Kernel::shutdown`](crate::runtime::Kernel::shutdown) for author code that blocks
    /// a thread.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        self.kernel.shutdown(limit).await?;
        self.own_driver.iter().for_each(|driver| driver.stop());
        Ok(())
    }
}

impl<A> fmt::Debug for Runtime<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Runtime").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}

impl<D> fmt::Debug for Builder<D> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Builder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<A> fmt::Debug for Start<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Start")
    }
}
