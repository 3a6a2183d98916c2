//! Binds hundreds of thousands of entities directly through the store, before any kernel opens it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use drystone_runtime::{
    Definition, Entity, Key, Millis, Status, Store, Version,
    store::{After, Batch, Claimed, Guard, Touched, Verdict, Want, Worker, Write},
};

/// The number of entities in one transaction.
const BATCH: u32 = 4_000;

/// The entities to bind.
pub(super) struct Births<'a> {
    pub(super) definition: &'a Definition,
    pub(super) count: u32,
    pub(super) state: Bytes,
    /// The alarm of each entity, by its number.
    pub(super) alarm: &'a (dyn Fn(u32) -> Option<Millis> + Sync),
}

/// The key of the `nth` entity.
pub(super) fn key(nth: u32) -> Bytes {
    format!("entity-{nth}").into()
}

impl Births<'_> {
    /// Binds all entities, in a lease of its own that ends cleanly, so that the next opening of the store
    /// finds no crash.
    pub(super) async fn bind(&self, store: &dyn Store) -> Result<()> {
        let worker = Worker { id: "births".into(), address: String::new() };
        let take = Want::Take { at_most: u32::MAX, lease: Duration::from_secs(600) };
        let claimed = store.claim(&worker, take).await?;
        let held: Vec<_> = claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)).collect();
        for first in (0..self.count).step_by(BATCH as usize) {
            let writes = (first..self.count.min(first + BATCH)).map(|nth| self.write(nth, &claimed));
            let writes = writes.collect::<Result<_>>()?;
            let batch = Batch {
                now: claimed.now,
                number: u64::from(first) + 1,
                epochs: held.clone(),
                writes,
                configs: Vec::new(),
            };
            let verdicts = store.commit(&batch).await?;
            ensure!(verdicts.iter().all(|verdict| *verdict == Verdict::Applied), "a birth was not applied");
        }
        store.claim(&worker, Want::Release { held, clean: true, now: claimed.now }).await?;
        Ok(())
    }

    fn write(&self, nth: u32, claimed: &Claimed) -> Result<Write> {
        let key = Key::new(self.definition.space.clone(), key(nth))?;
        let partition = key.partition(claimed.partitions);
        let lease = claimed.leases.iter().find(|lease| lease.partition == partition).context("no lease")?;
        let born = self.entity(&key, Version::of(lease.epoch, nth + 1), claimed.now, nth);
        let touched = Touched::All;
        Ok(Write { touched, ..Write::new(partition, key, Guard::Absent, After::Entity(Box::new(born))) })
    }

    fn entity(&self, key: &Key, version: Version, now: Millis, nth: u32) -> Entity {
        Entity {
            id: version,
            key: key.clone(),
            kind: self.definition.kind.clone(),
            definition: self.definition.name.clone(),
            version,
            status: Status::resting("resting"),
            config: self.definition.fingerprint(),
            active: false,
            head: Bytes::new(),
            state: self.state.clone(),
            alarm: (self.alarm)(nth),
            crashes: drystone_runtime::Crashes::NONE,
            suspect: None,
            parked: None,
            created_at: now,
            updated_at: now,
        }
    }
}
