//! The fixture of the cases: a store, its clock, a worker that owns its partitions, and short forms of
//! writes.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use crate::{
    Crashes, DropLane, Entity, Epoch, Fingerprint, Key, Lane, Mark, MessageId, Millis, Name, Partition, Range, Row,
    RowKey, Status, Version,
    driver::block_on,
    store::{
        After, Batch, Claimed, Cursor, Found, Guard, Letter, Outgoing, Read, Ready, Remembered, Store, Touched,
        Verdict, Want, Woken, Worker, Write,
    },
};

/// The number of partitions in every case.
pub(super) const PARTITIONS: u32 = 4;

/// The duration of leases in the cases.
pub(super) const LEASE: Duration = Duration::from_secs(15);

/// The time at which every case begins.
pub(super) const START: Millis = Millis(1_000_000);

/// The clock of a store under test, moved by the case.
#[derive(Clone, Debug)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Returns the time that the store must use.
    pub fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }

    pub(super) fn set(&self, now: Millis) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

type Opened = Pin<Box<dyn Future<Output = Arc<dyn Store>>>>;

/// Opens the store of one case: once at the beginning, and again when the case asks for it.
pub struct Opener(Box<dyn FnMut() -> Opened>);

impl Opener {
    /// Makes an opener that calls `open`. A store without a disk must return the same store again.
    pub fn new<F>(mut open: impl FnMut() -> F + 'static) -> Self
    where
        F: Future<Output = Arc<dyn Store>> + 'static,
    {
        Self(Box::new(move || Box::pin(open())))
    }
}

/// Runs one case on a new store without owners.
pub fn run(make: impl FnOnce(Clock, u32) -> Opener, case: impl AsyncFnOnce(&mut World)) {
    block_on(async {
        let clock = Clock(Arc::new(AtomicI64::new(START.0)));
        let mut opener = make(clock.clone(), PARTITIONS);
        let store = opener.0().await;
        let mut world = World { store, clock, opener, epochs: BTreeMap::new(), counter: 0, now: START };
        case(&mut world).await;
    });
}

/// Runs one case on a new store; a worker named `one` owns all partitions.
pub fn run_owned(make: impl FnOnce(Clock, u32) -> Opener, case: impl AsyncFnOnce(&mut World)) {
    run(make, async |world: &mut World| {
        world.own(&worker("one")).await;
        case(world).await;
    });
}

/// A store under test, and a worker's view of it.
pub struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
    opener: Opener,
    /// The epochs of the partitions that the worker believes it owns.
    pub(super) epochs: BTreeMap<Partition, Epoch>,
    counter: u32,
    /// The time of the worker, which its batches report.
    pub(super) now: Millis,
}

impl World {
    /// Closes the store and opens it again.
    pub(super) async fn reopen(&mut self) {
        // Drop the old store first: a file can be open in one engine only.
        self.store = Arc::new(crate::store::Memory::new(|| START, 1));
        self.store = self.opener.0().await;
    }

    pub(super) async fn claim(&self, worker: &Worker, want: Want) -> Claimed {
        self.store.claim(worker, want).await.expect("a claim is answered")
    }

    pub(super) async fn take(&self, worker: &Worker, at_most: u32) -> Claimed {
        self.claim(worker, Want::Take { at_most, lease: LEASE }).await
    }

    pub(super) async fn renew(&self, worker: &Worker, held: Vec<(Partition, Epoch)>) -> Claimed {
        self.claim(worker, Want::Renew { held, lease: LEASE, now: self.now }).await
    }

    pub(super) async fn release(&self, worker: &Worker, held: Vec<(Partition, Epoch)>, clean: bool) -> Claimed {
        self.claim(worker, Want::Release { held, clean, now: self.now }).await
    }

    /// Takes every free partition; later writes use the new epochs.
    pub(super) async fn own(&mut self, worker: &Worker) -> Claimed {
        let claimed = self.take(worker, PARTITIONS).await;
        self.epochs.extend(claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)));
        claimed
    }

    /// Returns the next version of the owner of this key.
    pub(super) fn version(&mut self, key: &Key) -> Version {
        self.counter += 1;
        let epoch = self.epochs.get(&partition(key)).copied().unwrap_or_default();
        Version::of(epoch, self.counter)
    }

    /// Returns an entity for this key without writing it.
    pub(super) fn born(&mut self, key: &Key) -> Entity {
        let version = self.version(key);
        Entity {
            id: version,
            key: key.clone(),
            kind: "toy".into(),
            definition: "counter".into(),
            version,
            status: Status::resting("resting"),
            config: Fingerprint(7),
            active: false,
            head: Bytes::from_static(b"head"),
            state: Bytes::from_static(b"state"),
            alarm: None,
            crashes: Crashes::NONE,
            suspect: None,
            parked: None,
            created_at: self.now,
            updated_at: self.now,
        }
    }

    /// Returns the same entity at its next version.
    pub(super) fn next(&mut self, entity: &Entity) -> Entity {
        Entity { version: self.version(&entity.key), ..entity.clone() }
    }

    /// Binds a key to an entity that `shape` has changed.
    pub(super) async fn bind_with(&mut self, key: &Key, shape: impl FnOnce(&mut Entity)) -> Entity {
        let mut entity = self.born(key);
        shape(&mut entity);
        self.applied(birth(&entity)).await;
        entity
    }

    pub(super) async fn bind(&mut self, key: &Key) -> Entity {
        self.bind_with(key, |_| {}).await
    }

    /// Returns the next version of an entity, and a write of only that version.
    pub(super) fn touch(&mut self, entity: &Entity) -> (Entity, Write) {
        let after = self.next(entity);
        let write = change(entity, &after);
        (after, write)
    }

    pub(super) fn batch(&self, writes: Vec<Write>) -> Batch {
        let epochs = self.epochs.iter().map(|(partition, epoch)| (*partition, *epoch)).collect();
        Batch { now: self.now, number: next_number(), epochs, writes, configs: Vec::new() }
    }

    pub(super) async fn commit(&self, writes: Vec<Write>) -> Vec<Verdict> {
        let batch = self.batch(writes);
        self.store.commit(&batch).await.expect("a batch is answered")
    }

    pub(super) async fn write(&self, write: Write) -> Verdict {
        self.commit(vec![write]).await.remove(0)
    }

    pub(super) async fn applied(&self, write: Write) {
        assert_eq!(self.write(write).await, Verdict::Applied);
    }

    pub(super) async fn refused(&self, write: Write) {
        let verdict = self.write(write).await;
        assert!(matches!(verdict, Verdict::Refused(_)), "{verdict:?}");
    }

    pub(super) async fn read(&self, read: Read) -> Found {
        self.store.read(&[read]).await.expect("a read is answered").remove(0)
    }

    pub(super) async fn entity(&self, key: &Key) -> Option<Entity> {
        match self.read(Read::Entity(key.clone())).await {
            Found::Entity(entity) => entity.map(|entity| *entity),
            other => panic!("asked for an entity, found {other:?}"),
        }
    }

    pub(super) async fn range(&self, entity: Version, range: Range) -> Vec<Row> {
        match self.read(Read::Rows { entity, range }).await {
            Found::Rows(rows) => rows,
            other => panic!("asked for rows, found {other:?}"),
        }
    }

    /// Returns the keys of all rows in a lane.
    pub(super) async fn lane(&self, entity: Version, lane: &'static str) -> Vec<Bytes> {
        self.range(entity, Range::first(lane, 10_000)).await.into_iter().map(|row| row.key).collect()
    }

    pub(super) async fn inbox(&self, key: &Key) -> Vec<Letter> {
        self.inbox_after(key, None, 10_000).await
    }

    pub(super) async fn inbox_after(&self, key: &Key, after: Option<MessageId>, limit: u32) -> Vec<Letter> {
        match self.read(Read::Inbox { key: key.clone(), after, limit }).await {
            Found::Inbox(letters) => letters,
            other => panic!("asked for an inbox, found {other:?}"),
        }
    }

    pub(super) async fn remembered(&self, key: &Key, once: &'static [u8]) -> Option<Remembered> {
        match self.read(Read::Remembered { key: key.clone(), once: Bytes::from_static(once) }).await {
            Found::Remembered(reply) => reply,
            other => panic!("asked for a reply, found {other:?}"),
        }
    }

    pub(super) async fn ready(&self, which: &Ready, after: Option<&Cursor>, limit: usize) -> Vec<Woken> {
        self.store.ready(which, after, limit).await.expect("a scan is answered")
    }

    /// Returns the keys found by a single scan.
    pub(super) async fn woken(&self, which: &Ready) -> Vec<Key> {
        self.ready(which, None, 10_000).await.into_iter().map(|woken| woken.key).collect()
    }

    /// Returns the keys found by a scan in pages of `limit`.
    pub(super) async fn woken_by_pages(&self, which: &Ready, limit: usize) -> Vec<Key> {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.ready(which, cursor.as_ref(), limit).await;
            assert!(page.len() <= limit, "a page is no longer than asked");
            let Some(last) = page.last() else { return keys };
            cursor = Some(last.cursor.clone());
            keys.extend(page.into_iter().map(|woken| woken.key));
        }
    }

    /// Sweeps until nothing is left, `limit` rows per call. Returns the number of deleted rows.
    pub(super) async fn sweep_all(&self, now: Millis, limit: usize) -> usize {
        let mut all = 0;
        for _ in 0..10_000 {
            let swept = self.store.sweep(now, limit).await.expect("a sweep is answered");
            assert!(swept <= limit, "a slice is no larger than asked");
            if swept == 0 {
                return all;
            }
            all += swept;
        }
        panic!("sweeping never ends");
    }
}

pub(super) fn worker(id: &'static str) -> Worker {
    Worker { id: id.into(), address: format!("{id}.example:80") }
}

pub(super) fn key(key: impl Into<Bytes>) -> Key {
    Key::new("app", key).expect("the cases' keys are within the limits")
}

pub(super) fn partition(key: &Key) -> Partition {
    key.partition(PARTITIONS)
}

pub(super) fn all_partitions() -> Vec<Partition> {
    (0..PARTITIONS).map(Partition).collect()
}

/// Returns the key with this number in a partition.
pub(super) fn key_in(wanted: u32, number: usize) -> Key {
    let keys = (0..).map(|index: u32| key(format!("key-{index:04}")));
    keys.filter(|key| partition(key) == Partition(wanted)).nth(number).expect("every partition has keys")
}

/// Returns a write for a key that changes nothing.
fn empty(key: &Key, guard: Guard, after: After) -> Write {
    Write::new(partition(key), key.clone(), guard, after)
}

pub(super) fn birth(entity: &Entity) -> Write {
    empty(&entity.key, Guard::Absent, After::Entity(Box::new(entity.clone())))
}

/// Returns the write that turns `before` into `after`, with the columns that differ.
pub(super) fn change(before: &Entity, after: &Entity) -> Write {
    let touched = Touched::between(before, after);
    Write { touched, ..empty(&before.key, at(before), After::Entity(Box::new(after.clone()))) }
}

pub(super) fn destroy(entity: &Entity) -> Write {
    empty(&entity.key, at(entity), After::Destroyed)
}

pub(super) fn unbound(key: &Key) -> Write {
    empty(key, Guard::Absent, After::Unbound)
}

pub(super) fn at(entity: &Entity) -> Guard {
    Guard::At { id: entity.id, version: entity.version }
}

/// The rows of a write.
type Changes = Arc<BTreeMap<(Lane, RowKey), Option<Bytes>>>;

/// Combines the rows of two writes.
pub(super) fn both(one: &Changes, other: &Changes) -> Changes {
    let rows = one.iter().chain(other.iter()).map(|(place, body)| (place.clone(), body.clone()));
    Arc::new(rows.collect())
}

/// Returns rows to put; each has its key as its body.
pub(super) fn put<K: Into<Bytes>>(lane: &'static str, keys: impl IntoIterator<Item = K>) -> Changes {
    let rows = keys.into_iter().map(Into::into).map(|key: Bytes| ((Name::new(lane), key.clone()), Some(key)));
    Arc::new(rows.collect())
}

pub(super) fn drop_lane(lane: &'static str, held: bool) -> DropLane {
    DropLane { lane: lane.into(), held }
}

/// Returns the message with this index that the commit at `version` sends to `to`.
pub(super) fn message(version: Version, index: u32, to: &Key) -> Outgoing {
    Outgoing {
        id: MessageId { version, index },
        partition: partition(to),
        to: to.clone(),
        definition: "counter".into(),
        verb: "add".into(),
        body: Bytes::from(format!("{version} {index}")),
        mark: Some(Mark::new(u64::MAX - version.0)),
    }
}

pub(super) fn reply(once: &'static [u8], expires_at: Millis) -> Remembered {
    Remembered {
        once: Bytes::from_static(once),
        hash: 0xfedc_ba98_7654_3210,
        reply: Bytes::from_static(b"answer"),
        expires_at,
    }
}

/// Returns the next batch number.
fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
