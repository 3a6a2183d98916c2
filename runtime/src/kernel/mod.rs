//! The kernel: one durable entity per key, pure turns, one commit each.
//!
//! [`Kernel`] is the handle. Behind it a few loops share one memory (`core.rs`): the *turn threads* take
//! turns, write batches and read; the *timer* wakes keys on time; the *scanner* scans the store for keys to
//! wake; *leases* are renewed by a loop of their own; *transactions* are the author's; *maintenance* sweeps
//! the store and memory; the *watchdog* names code that blocks. No loop knows a kind: everything goes
//! through [`Handler`](crate::Handler).

pub(crate) mod api;
mod mutants;
pub(crate) mod resident;
mod state;
mod threads;
mod util;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::oneshot;

pub use api::call::Call;
pub use api::lifecycle::{Listener, Report};
pub use api::options::Options;
pub use api::view::{Explain, View, Wait};
pub use api::weak::WeakKernel;
pub use resident::turn::panic_message;
pub use state::effects::Event;

use self::{
    api::call::UNPARK,
    state::{
        mail::{Asker, Mail},
        shared::Shared,
    },
    threads::{
        reader::Wanted,
        transactions::{check_scripts, transact},
    },
};
use crate::{
    Driver, Error, Key, Millis, Registry, Store,
    store::{
        Found, Page, Query, Read,
        sql::{Script, ScriptCode, Scripted},
    },
};

/// A handle to a kernel over one store. Clones share the kernel.
///
/// Dropping the last handle without [`shutdown`](Self::shutdown) ends the kernel like a shutdown that gives
/// work no time: running code is dropped, the batch in flight is finished, the partitions are released, and
/// nothing counts as a crash (R2). The drop waits for that, for at most 5 s.
#[derive(Clone)]
pub struct Kernel {
    shared: Arc<Shared>,
    _last: Arc<Last>,
}

/// Ends the kernel when the last handle is dropped.
struct Last(Arc<Shared>);

impl Drop for Last {
    fn drop(&mut self) {
        if crate::planted::Bug::DropCounts.planted() {
            self.0.close();
        }
        if !self.0.is_closed() {
            self.0.driver.finish(Box::pin(self.0.clone().end_unasked()));
        }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Kernel").field("worker", &self.shared.worker.id).finish_non_exhaustive()
    }
}

/// How many messages of one key are searched for held messages.
const HELD_LETTERS_MAX: u32 = 1_000;

/// Counters of a kernel since its opening. Each counter only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Turns taken.
    pub turns: u64,
    /// Batches written.
    pub batches: u64,
    /// Entity writes in these batches.
    pub writes: u64,
    /// Alarms that rang.
    pub alarms: u64,
    /// Pieces of work started.
    pub started: u64,
    /// Ends of work that matched no running work and were dropped.
    pub late_ends: u64,
    /// Entities found without a wake source (R7): each is a bug in Drystone.
    pub stuck: u64,
    /// Messages that became dead letters.
    pub dead_letters: u64,
    /// Kernel threads that were blocked by code.
    pub blocked: u64,
    /// Keys that left memory after a time without use.
    pub left: u64,
}

impl Kernel {
    /// Opens the store, takes partitions and resumes everything in them (R1).
    pub async fn open(
        store: Arc<dyn Store>,
        registry: Registry,
        driver: Arc<dyn Driver>,
        options: Options,
    ) -> Result<(Self, Report), Error> {
        let shared = Shared::new(store, registry, driver, options);
        check_scripts(&shared)?;
        let report = shared.open().await?;
        Ok((Self { _last: Arc::new(Last(shared.clone())), shared }, report))
    }

    /// Makes a call and waits for its answer, until the call's deadline.
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        self.shared.call(call).await
    }

    /// Runs code in a transaction of the store, outside all entities (W6). The code may run more than once.
    /// Its writes are kept once, or not at all if the result says so. If the store returns an error and the
    /// outcome is unknown, this method returns that error.
    pub async fn transact(&self, limit: Duration, code: ScriptCode) -> Result<Scripted, Error> {
        transact(self.shared.clone(), None, Script { claim: None, fence: None, limit, code }).await
    }

    /// Returns the `primitive:*` view of a key; `None` if the key is unbound (E14).
    pub async fn view(&self, key: &Key) -> Result<Option<View>, Error> {
        let Some(Found::Entity(Some(entity))) = self.read(Read::Entity(key.clone())).await? else {
            return Ok(None);
        };
        let config = Read::Config { definition: entity.definition.clone(), fingerprint: entity.config };
        let config = match self.read(config).await? {
            Some(Found::Config(config)) => config,
            _ => None,
        };
        Ok(Some(View { entity: *entity, config }))
    }

    async fn read(&self, read: Read) -> Result<Option<Found>, Error> {
        let found = Wanted::ask(&self.shared, |asker| Wanted::Person(vec![read], asker)).await?;
        Ok(found.into_iter().next())
    }

    /// Explains what a key waits for (R7).
    pub async fn explain(&self, key: &Key) -> Result<Explain, Error> {
        let (asker, answer) = oneshot::channel();
        self.shared.with(|core, _| {
            core.lease_of(key)?;
            core.post(key, Mail::Explain(Asker(asker)));
            Ok::<(), Error>(())
        })?;
        answer.await.map_err(|_| Error::Unknown { key: key.clone() })
    }

    /// Lists entities, one page at a time (R6).
    pub async fn list(&self, query: Query) -> Result<Page, Error> {
        Wanted::ask(&self.shared, |asker| Wanted::Listing(query, asker)).await
    }

    /// Resumes a parked entity, with its crashes forgotten, and releases held messages to this key. Returns
    /// `false` if there was nothing to resume and nothing to release.
    pub async fn unpark(&self, key: &Key) -> Result<bool, Error> {
        let is_released = self.release_messages(key).await?;
        let Some(view) = self.view(key).await?.filter(|view| view.entity.parked.is_some()) else {
            return Ok(is_released);
        };
        let call = Call::new(view.entity.definition, key.key.clone(), UNPARK, Bytes::new());
        self.shared.call_at(key.clone(), call).await.map(|_| true)
    }

    async fn release_messages(&self, key: &Key) -> Result<bool, Error> {
        let inbox = Read::Inbox { key: key.clone(), after: None, limit: HELD_LETTERS_MAX };
        let Some(Found::Inbox(mut letters)) = self.read(inbox).await? else { return Ok(false) };
        letters.retain(|letter| letter.at == Millis::MAX);
        let is_released = !letters.is_empty();
        if is_released {
            self.shared.post(key, Mail::Release(letters));
        }
        Ok(is_released)
    }

    /// Returns a listener for all lifecycle events from now on (E15).
    pub fn listen(&self) -> Listener {
        let receiver = self.shared.events.subscribe();
        // A subscriber that comes after the end would never hear of the end.
        Listener::new(receiver, self.shared.is_closed())
    }

    /// Returns the counters of this kernel.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts
    }

    /// Returns a weak handle, for code that runs beside the kernel and must not keep it alive.
    pub fn weak_kernel(&self) -> WeakKernel {
        self.shared.weak_kernel()
    }

    /// Returns 64 random bits of the driver (X1).
    pub fn random(&self) -> u64 {
        self.shared.driver.random()
    }

    /// Returns the kernel's time, which never goes back (A5).
    pub fn now(&self) -> Millis {
        self.shared.time.now()
    }

    /// Ends the kernel at once, as if the process had died: no lease is released and no work is waited for.
    /// Callers that wait for an answer get an error.
    pub fn abandon(&self) {
        self.shared.close();
    }

    /// Shuts the kernel down in order: no new calls, messages or alarms; work gets `limit` to end, and
    /// unfinished work is given back; leases are released. Nothing counts as a crash (R2).
    ///
    /// When this method returns, the threads of the kernel have ended and its store is closed, however many
    /// clones of the handle exist. Each clone gets [`Error::Closing`] from then on. A second call waits for
    /// the first.
    ///
    /// There are two limits. A thread that the author's code blocks runs until that code returns. If a
    /// transaction of the author blocks for longer than `limit` and ten seconds, this method returns a
    /// store error of the kind [`Busy`](crate::store::StoreErrorKind::Busy), and the next call continues to
    /// wait.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        self.shared.shut_down(limit).await
    }
}
