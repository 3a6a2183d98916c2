//! The witness stands between all kernels and the one store, and knows what is durable. It checks every
//! applied write against the laws, from whichever process the write came, and however late.

mod cursors;
mod durable;
mod errands;
mod family;
mod lanes;
mod leases;
mod posts;
mod queues;
mod said;
mod table;
mod tallies;
mod topics;
mod unfolded;
mod whereabouts;

use std::sync::{Arc, Mutex, MutexGuard};

use drystone_runtime::{
    Cx, Entity, Millis, Store, Work,
    store::{
        After, Answer, Batch, Claimed, Cursor, Found, Hints, Memory, Page, Query, Read, Ready, Verdict, Want, Woken,
        Worker as Asker, Write,
        migration::{Migration, MigrationFault},
        sql::{Script, Scripted, Sql},
    },
};

pub use durable::{Durable, Story};
pub(crate) use errands::state_of;
pub use errands::{Errands, Run, Written};
pub use family::Family;
pub(crate) use lanes::items_in;
pub use lanes::{Lanes, Place};
pub use leases::Leases;
pub use posts::Posts;
pub use queues::{Change, Fate, Item, Items, Queue, Queues};
pub(crate) use said::published_in;
pub use table::Table;
pub use topics::{Kept, Publication, Topics, Watcher, rows};
pub use whereabouts::{Place as Whereabout, Whereabouts};

use super::log::{Chronicle, Class, lock};
use crate::sim::{
    drawing::roster::{Cast, Number},
    running::executor::{Executor, Group},
};

/// A store that passes all calls on and checks them.
pub struct Witness {
    inner: Arc<Memory>,
    executor: Executor,
    store: Group,
    chronicle: Arc<Chronicle>,
    cast: Arc<Cast>,
    durable: Mutex<Durable>,
    leases: Mutex<Leases>,
}

impl Witness {
    /// Creates a witness of this store. The clock of `store` is the clock of the store.
    pub fn new(
        inner: Arc<Memory>,
        executor: Executor,
        store: Group,
        chronicle: Arc<Chronicle>,
        cast: Arc<Cast>,
        guilty: Option<Number>,
    ) -> Self {
        let durable = Mutex::new(Durable::new(chronicle.clone(), cast.clone(), guilty));
        let leases = Mutex::new(Leases::new(chronicle.clone()));
        Self { inner, executor, store, chronicle, cast, durable, leases }
    }

    /// The durable state.
    pub fn durable(&self) -> MutexGuard<'_, Durable> {
        lock(&self.durable)
    }

    /// The current leases.
    pub fn leases(&self) -> MutexGuard<'_, Leases> {
        lock(&self.leases)
    }

    /// Checks the start of code that could act outside: the state that it sees must be durable (E4). If no
    /// clock jumps, its process must own the key (R3).
    pub fn begins(&self, process: usize, entity: Option<&Entity>, work: &Work, cx: &Cx, honest: bool) {
        let number = self.cast.number(&cx.key).expect("only the cast is run");
        if let Some(entity) = entity {
            let durable = self.durable().holds(number, entity.version);
            self.chronicle.check(durable, Class::Broken, "E4", || {
                format!("{} of {} runs on version {}, which is not durable", work.id, cx.key, entity.version)
            });
        }
        if honest {
            let partition = self.cast.member(number).partition;
            let now = self.executor.wall(self.store);
            let owns = self.leases().valid(partition, &format!("k{process}"), now);
            self.chronicle.check(owns, Class::Broken, "R3", || {
                format!("k{process} starts {} of {} without a valid lease", work.id, cx.key)
            });
        }
    }

    /// Checks that a tick does not start before it is due (A2).
    pub fn ticks(&self, entity: &Entity, cx: &Cx) {
        let due = entity.alarm.is_some_and(|alarm| alarm <= cx.now);
        self.chronicle.check(due, Class::Broken, "A2", || {
            format!("{} of {} starts at {}, its alarm is {:?}", cx.work, cx.key, cx.now, entity.alarm)
        });
    }

    /// The durable entity of a member.
    pub fn entity(&self, number: Number) -> Option<Entity> {
        self.durable().story(number).entity.clone()
    }

    /// The latest time that an honest kernel may believe: the clock that was ever furthest ahead, carried
    /// on to the present.
    fn latest(&self) -> Millis {
        self.executor.latest_wall()
    }

    fn watch(&self, batch: &Batch, verdicts: &[Verdict]) {
        let latest = self.latest();
        self.chronicle.check(batch.now <= latest, Class::Broken, "A5", || {
            format!("a commit is of {}, later than any clock ever showed ({latest})", batch.now)
        });
        if batch.writes.len() > 1 {
            self.chronicle.sometimes("a batch held several writes");
        }
        for (write, verdict) in batch.writes.iter().zip(verdicts) {
            self.chronicle.note(|| format!("store: {}", shown(write, verdict)));
            match verdict {
                Verdict::Applied => self.applied(batch, write),
                Verdict::Stale(_) => {}
                Verdict::Fenced(_) => self.chronicle.sometimes("a commit was fenced"),
                Verdict::Refused(why) => {
                    let message = format!("the store refused a write of {}: {why}", write.key);
                    self.chronicle.violation(Class::Broken, "K3", message);
                }
            }
        }
    }

    fn applied(&self, batch: &Batch, write: &Write) {
        let epoch = batch.epochs.iter().find(|(partition, _)| *partition == write.partition);
        self.leases().applied(write.partition, epoch.map(|(_, epoch)| *epoch));
        let mut durable = self.durable();
        let before = self.cast.number(&write.key).and_then(|number| durable.story(number).entity.as_ref());
        let write = &*unfolded::unfolded(write, before, durable.lanes());
        let crash = durable.applied(write, batch.now);
        drop(durable);
        let unclean = !crash || !self.leases().clean(write.partition);
        self.chronicle.check(unclean, Class::Broken, "R2", || {
            format!("a crash of {} is counted, and nothing crashed", write.key)
        });
    }
}

fn shown(write: &Write, verdict: &Verdict) -> String {
    let after = match &write.after {
        After::Entity(entity) => {
            let (version, status, alarm) = (entity.version, &entity.status.word, entity.alarm);
            format!("{version} {status} {alarm:?} active {} {:?}", entity.active, entity.crashes)
        }
        other => format!("{other:?}"),
    };
    let (taken, sent, kept) = (write.taken.len(), write.sent.len(), write.remember.len());
    format!("{} {:?} -> {after}, {taken} taken, {sent} sent, {kept} remembered: {verdict:?}", write.key, write.guard)
}

impl Store for Witness {
    fn claim<'a>(&'a self, worker: &'a Asker, want: Want) -> Answer<'a, Claimed> {
        Box::pin(async move {
            let claimed = self.inner.claim(worker, want.clone()).await?;
            self.chronicle.note(|| format!("store: {} {want:?} -> {:?}", worker.id, claimed.leases));
            self.leases().claimed(worker, &want, &claimed);
            Ok(claimed)
        })
    }

    fn read<'a>(&'a self, reads: &'a [Read]) -> Answer<'a, Vec<Found>> {
        self.inner.read(reads)
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> Answer<'a, Vec<Verdict>> {
        Box::pin(async move {
            let verdicts = self.inner.commit(batch).await?;
            self.watch(batch, &verdicts);
            Ok(verdicts)
        })
    }

    fn ready<'a>(&'a self, which: &'a Ready, after: Option<&'a Cursor>, limit: usize) -> Answer<'a, Vec<Woken>> {
        self.inner.ready(which, after, limit)
    }

    fn list<'a>(&'a self, query: &'a Query) -> Answer<'a, Page> {
        self.inner.list(query)
    }

    fn sweep(&self, now: Millis, limit: usize) -> Answer<'_, usize> {
        self.inner.sweep(now, limit)
    }

    fn choose<'a>(&'a self, name: &'a str, value: &'a str) -> Answer<'a, String> {
        self.inner.choose(name, value)
    }

    fn hints(&self) -> Hints {
        self.inner.hints()
    }

    fn sql(&self) -> Option<&dyn Sql> {
        Some(self)
    }
}

impl Sql for Witness {
    fn migrate<'a>(&'a self, _: &'a [Migration]) -> Answer<'a, Result<(), MigrationFault>> {
        Box::pin(async { Ok(Ok(())) })
    }

    fn transact<'a>(&'a self, scripts: &'a [Script]) -> Answer<'a, Vec<Scripted>> {
        Box::pin(async move {
            let mut durable = self.durable();
            let (watched, put): (Vec<_>, Vec<_>) = scripts.iter().map(posts::watched).unzip();
            let scripted = self.inner.run_scripts(&watched, &mut durable.table);
            self.chronicle.note(|| format!("store: {} scripts -> {scripted:?}", scripts.len()));
            durable.table.ran(&self.chronicle, scripts, &scripted);
            for (scripted, put) in scripted.iter().zip(put) {
                let put = lock(&put).take().filter(|_| matches!(scripted, Scripted::Done(_)));
                durable.posted(&put.unwrap_or_default());
            }
            if scripted.iter().any(|scripted| matches!(scripted, Scripted::Gone | Scripted::Fenced)) {
                self.chronicle.sometimes("a booking came too late");
            }
            Ok(scripted)
        })
    }
}
