//! The kernel: one durable entity per key, pure turns, one commit each.
//!
//! [`Kernel`] is the handle. Behind it a few loops share one memory (`core.rs`): *hands* take turns, write
//! batches and read; the *ringer* wakes keys on time; the *scout* looks in the store for what must be woken;
//! the *keeper* renews leases; the *janitor* sweeps, the store and memory; the *watchdog* names code that blocks. No loop knows a
//! kind: everything goes through [`Handler`](crate::Handler).

mod backoff;
mod body;
mod call;
mod calling;
mod chain;
mod core;
mod effects;
mod explaining;
mod finding;
mod hand;
mod janitor;
mod keeper;
mod latch;
mod lease;
mod leaving;
mod letters;
mod lifecycle;
mod listing;
mod loader;
mod loops;
mod mail;
mod mutants;
mod near;
mod options;
mod outpost;
mod pace;
mod pages;
mod parking;
mod pending;
mod place;
mod posting;
mod pulse;
mod race;
mod reading;
mod remembering;
mod residents;
mod ringer;
mod scout;
mod scribe;
mod seating;
mod seeded;
mod settling;
mod shared;
mod slot;
mod source;
mod sparse;
mod stacking;
mod store_slot;
mod time;
mod tries;
mod turning;
mod view;
mod watchdog;
mod window;
mod working;
mod writer;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::oneshot;

pub use call::Call;
pub(crate) use call::{Door, Reader};
pub use effects::Event;
pub use lifecycle::{Listener, Report};
pub use options::Options;
pub use outpost::Outpost;
pub use turning::panic_message;
pub use view::{Explain, View, Wait};

use self::{
    call::UNPARK,
    loader::Wanted,
    mail::{Asker, Mail},
    shared::Shared,
};
use crate::{
    Driver, Error, Key, Millis, Registry, Store,
    store::{
        Found, Page, Query, Read,
        sql::{Script, ScriptCode, Scripted},
    },
};

/// A kernel over one store. Clones share it. When the last one is dropped without [`shutdown`](Self::shutdown) the kernel ends
/// as by a shutdown that gives work no time: code that runs is dropped, the batch in flight is finished, the partitions are
/// released, and nothing counts as a crash (R2). The drop waits for that, 5 s at most.
#[derive(Clone)]
pub struct Kernel {
    shared: Arc<Shared>,
    _last: Arc<Last>,
}

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

/// Messages of one key that are looked through for those that are held.
const HELD_LETTERS_MAX: u32 = 1_000;

/// Counters of one kernel since it was opened; each only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Turns taken.
    pub turns: u64,
    /// Batches written.
    pub batches: u64,
    /// Entity writes in them.
    pub writes: u64,
    /// Alarms that rang.
    pub alarms: u64,
    /// Pieces of work started.
    pub started: u64,
    /// Ends of work that matched nothing running: dropped.
    pub late_ends: u64,
    /// Entities found without a wake source (R7): bugs of ours.
    pub stuck: u64,
    /// Messages that became dead letters.
    pub dead_letters: u64,
    /// Hands that code blocked.
    pub blocked: u64,
    /// Keys that left memory because nothing used them.
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
        shared.check_scripts()?;
        let report = shared.open().await?;
        Ok((Self { _last: Arc::new(Last(shared.clone())), shared }, report))
    }

    /// Makes a call and waits for its answer, up to its deadline.
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        self.shared.call(call).await
    }

    /// Runs code in a transaction of the store's, beside the entities (W6). It may be run more than once; what it writes is kept
    /// once, or not at all if it says so. If the store answers with an error that leaves it open, so does this.
    pub async fn transact(&self, limit: Duration, code: ScriptCode) -> Result<Scripted, Error> {
        self.shared.clone().transact(None, Script { claim: None, fence: None, limit, code }).await
    }

    /// The `primitive:*` view of a key; `None` if it is unbound (E14).
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
        let found = self.shared.ask(|asker| Wanted::Person(vec![read], asker)).await?;
        Ok(found.into_iter().next())
    }

    /// What a key waits for (R7).
    pub async fn explain(&self, key: &Key) -> Result<Explain, Error> {
        let (asker, answer) = oneshot::channel();
        self.shared.with(|core, _| {
            core.lease_of(key)?;
            core.post(key, Mail::Explain(Asker(asker)));
            Ok::<(), Error>(())
        })?;
        answer.await.map_err(|_| Error::Unknown { key: key.clone() })
    }

    /// Lists entities, a page at a time (R6).
    pub async fn list(&self, query: Query) -> Result<Page, Error> {
        self.shared.ask(|asker| Wanted::Listing(query, asker)).await
    }

    /// Lets a parked entity go on, with its crashes forgotten, and messages to this key that are held. `false` if there were
    /// none of either.
    pub async fn unpark(&self, key: &Key) -> Result<bool, Error> {
        let is_released = self.release_letters(key).await?;
        let Some(view) = self.view(key).await?.filter(|view| view.entity.parked.is_some()) else {
            return Ok(is_released);
        };
        let call = Call::new(view.entity.definition, key.key.clone(), UNPARK, Bytes::new());
        self.shared.call_at(key.clone(), call).await.map(|_| true)
    }

    async fn release_letters(&self, key: &Key) -> Result<bool, Error> {
        let inbox = Read::Inbox { key: key.clone(), after: None, limit: HELD_LETTERS_MAX };
        let Some(Found::Inbox(mut letters)) = self.read(inbox).await? else { return Ok(false) };
        letters.retain(|letter| letter.at == Millis::MAX);
        let is_released = !letters.is_empty();
        if is_released {
            self.shared.post(key, Mail::Release(letters));
        }
        Ok(is_released)
    }

    /// Everything that entities tell from now on (E15).
    pub fn listen(&self) -> Listener {
        let receiver = self.shared.events.subscribe();
        // Who subscribes after the end would never hear of it.
        Listener::new(receiver, self.shared.is_closed())
    }

    /// What this kernel counted.
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts
    }

    /// The kernel for what runs beside it and must not keep it alive.
    pub fn outpost(&self) -> Outpost {
        self.shared.outpost()
    }

    /// Our time: it never goes back (A5).
    pub fn now(&self) -> Millis {
        self.shared.time.now()
    }

    /// Ends at once, as if the process had died: nothing is given back or waited for, and whoever waits for an answer
    /// is told that there will be none.
    pub fn abandon(&self) {
        self.shared.close();
    }

    /// Ends in order: no new calls, messages or alarms; work gets `limit` to end, and what does not is given
    /// back; leases are released. Nothing counts as a crash (R2).
    ///
    /// When it answers, the threads of the kernel have ended and its store is closed, whatever clones of it there are: each gets
    /// [`Error::Closing`] from then on. A second call waits for the first. Two things are not in its power: a thread that an
    /// author's code blocks goes on until that returns; and if a transaction of an author's blocks for longer than `limit` and ten
    /// seconds, the answer is a store error of the kind [`Busy`](crate::store::StoreErrorKind::Busy), and the next call waits on.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), Error> {
        self.shared.shut_down(limit).await
    }
}
