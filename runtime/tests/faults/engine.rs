//! A small engine over one file: it binds numbered keys, and remembers which writes were acknowledged.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use drystone_runtime::{
    Entity, Epoch, Fingerprint, Key, Millis, Partition, Status, Store, Version,
    driver::block_on,
    store::{After, Batch, Found, Guard, Query, Read, Sqlite, SqliteOptions, StoreError, Verdict, Want, Worker, Write},
};

pub(super) struct Engine {
    pub(super) store: Sqlite,
    epoch: Epoch,
    counter: u32,
    /// The acknowledged entities, by number.
    pub(super) acknowledged: BTreeMap<u32, Entity>,
}

impl Engine {
    pub(super) fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let store = Sqlite::open(path, options)?;
        let worker = Worker { id: "one".into(), address: String::new() };
        let claimed = block_on(store.claim(&worker, Want::Take { at_most: 1, lease: Duration::from_secs(60) }))?;
        Ok(Self { epoch: claimed.leases[0].epoch, store, counter: 0, acknowledged: BTreeMap::new() })
    }

    /// Writes an entity with the given number and `head`: a birth, or the next version.
    pub(super) fn put(&mut self, number: u32, head: Bytes) -> Result<(), StoreError> {
        self.counter += 1;
        let version = Version::of(self.epoch, self.counter);
        let before = self.acknowledged.get(&number);
        let guard = before.map_or(Guard::Absent, |before| Guard::At { id: before.id, version: before.version });
        let id = before.map_or(version, |before| before.id);
        let entity = Entity { id, version, head, ..entity(number, version) };
        let verdicts = block_on(self.store.commit(&self.batch(guard, &entity)))?;
        assert_eq!(verdicts, [Verdict::Applied]);
        self.acknowledged.insert(number, entity);
        Ok(())
    }

    pub(super) fn put_many(&mut self, count: u32, head: &'static [u8]) {
        for number in 0..count {
            self.put(number, Bytes::from_static(head)).unwrap();
        }
    }

    fn batch(&self, guard: Guard, entity: &Entity) -> Batch {
        let write = Write::new(Partition(0), entity.key.clone(), guard, After::Entity(Box::new(entity.clone())));
        let epochs = vec![(Partition(0), self.epoch)];
        let number = (entity.version.0 & 0xffff_ffff) + 1;
        Batch { now: Millis(1), number, epochs, writes: vec![write], configs: Vec::new() }
    }

    /// Asserts that every acknowledged entity can be read back unchanged.
    pub(super) fn assert_all_there(&self) {
        for (number, expected) in &self.acknowledged {
            assert_eq!(read(&self.store, *number).unwrap().as_ref(), Some(expected), "number {number}");
        }
    }
}

pub(super) fn read(store: &Sqlite, number: u32) -> Result<Option<Entity>, StoreError> {
    match block_on(store.read(&[Read::Entity(key(number))]))?.remove(0) {
        Found::Entity(entity) => Ok(entity.map(|entity| *entity)),
        other => panic!("asked for an entity, found {other:?}"),
    }
}

/// Returns all entities, by listing.
pub(super) fn list(store: &Sqlite) -> Result<Vec<Entity>, StoreError> {
    Ok(block_on(store.list(&Query { limit: 100_000, ..Query::default() }))?.entities)
}

pub(super) fn key(number: u32) -> Key {
    Key::new("app", format!("key-{number:05}")).unwrap()
}

fn entity(number: u32, version: Version) -> Entity {
    Entity {
        id: version,
        key: key(number),
        kind: "toy".into(),
        definition: "counter".into(),
        version,
        status: Status::resting("resting"),
        config: Fingerprint(7),
        active: false,
        head: Bytes::new(),
        state: Bytes::from_static(b"{\"count\":1}"),
        alarm: None,
        crashes: drystone_runtime::Crashes::NONE,
        suspect: None,
        parked: None,
        created_at: Millis(1),
        updated_at: Millis(1),
    }
}

/// Makes a new folder, and the path of a file in it.
pub(super) fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    (folder, path)
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}
