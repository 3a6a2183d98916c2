//! Planted bugs that change more than a condition. Without the feature the functions here do the right
//! thing.

use super::{
    resident::parts::chain::Chain,
    state::{effects::Effects, lease::Held, shared::Shared},
    threads::writer::{InFlightBatch, Ruling},
};
#[cfg(feature = "planted")]
use crate::planted::Bug;
use crate::{Entity, Key, Version, store::StoreError};

/// Returns the version of a new chain.
pub(crate) fn version(key: &Key, lease: &Held, tip: &Option<Entity>) -> Version {
    #[cfg(feature = "planted")]
    if Bug::VersionReused.planted() {
        return reused::version(key, lease, tip);
    }
    let _ = (key, tip);
    lease.next_version()
}

/// A planted bug: the last turn of a chain is answered before it is durable.
pub(crate) fn reply_at_once(chain: &mut Chain, out: &mut Effects) {
    let Some(link) = chain.last_mut() else { return };
    let reply = link.replies.pop().map_or(Ok(bytes::Bytes::new()), |(_, reply)| reply);
    let source = std::mem::replace(&mut link.source, super::resident::source::Source::Kernel);
    match source.into_pending() {
        Some(pending) if link.hold.is_none() => out.answers.push((pending, reply)),
        _ => {}
    }
}

#[cfg(feature = "planted")]
mod reused {
    use std::{cell::RefCell, collections::BTreeMap};

    use super::{Entity, Held, Key, Version};

    thread_local! {
        static FIRST: RefCell<BTreeMap<Key, Version>> = const { RefCell::new(BTreeMap::new()) };
    }

    /// Every incarnation of a key begins with the same version.
    pub(super) fn version(key: &Key, lease: &Held, tip: &Option<Entity>) -> Version {
        let fresh = lease.next_version();
        if tip.is_some() {
            return fresh;
        }
        FIRST.with_borrow_mut(|first| *first.entry(key.clone()).or_insert(fresh))
    }
}

/// The place of planted bugs that write something of their own before a batch.
#[cfg(not(feature = "planted"))]
pub(crate) async fn before_the_batch(_: &Shared, _: &mut InFlightBatch) -> Result<(), StoreError> {
    Ok(())
}

/// The place of a planted bug: the messages of a batch with an unknown outcome are sent again.
#[cfg(not(feature = "planted"))]
pub(crate) fn doubled_delivery(_: &Shared, _: &InFlightBatch, _: &[Option<Ruling>]) {}

#[cfg(feature = "planted")]
pub(crate) use split::{before_the_batch, doubled_delivery};

#[cfg(feature = "planted")]
mod split {
    use super::{Bug, InFlightBatch, Ruling, Shared, StoreError};
    use crate::{
        Entity, Key, Version,
        kernel::{
            resident::Resident,
            state::{
                core::{Core, Released},
                effects::Effects,
            },
        },
        store::{After, Batch, Guard, Outgoing, Touched, Write},
    };

    pub(crate) async fn before_the_batch(at: &Shared, batch: &mut InFlightBatch) -> Result<(), StoreError> {
        if std::mem::replace(&mut batch.is_prepared, true) {
            return Ok(());
        }
        let mut first = Batch { writes: Vec::new(), number: at.next_number(), ..batch.batch.clone() };
        for (write, before) in batch.batch.writes.iter_mut().zip(&batch.before) {
            let split = match before {
                Some(before) if Bug::AlarmClearedBefore.planted() => clear_the_alarm(at, write, before),
                before if Bug::AlarmInAnotherCommit.planted() => leave_the_alarm(write, before.as_ref()),
                _ => None,
            };
            first.writes.extend(split);
        }
        if first.writes.is_empty() {
            return Ok(());
        }
        at.store()?.commit(&first).await.map(drop)
    }

    fn clear_the_alarm(at: &Shared, write: &mut Write, before: &Entity) -> Option<Write> {
        before.alarm.filter(|alarm| *alarm <= at.time.now())?;
        let version = fresh_version(at, &write.key)?;
        let after = Entity { alarm: None, version, ..before.clone() };
        let first = bare(write, write.guard, after);
        write.guard = Guard::At { id: before.id, version };
        Some(first)
    }

    fn leave_the_alarm(write: &mut Write, before: Option<&Entity>) -> Option<Write> {
        let After::Entity(after) = &write.after else { return None };
        let old = before.and_then(|before| before.alarm);
        if after.alarm == old || after.alarm.is_none() {
            return None;
        }
        let second = bare(write, Guard::At { id: after.id, version: after.version }, (**after).clone());
        let mut first = std::mem::replace(write, second);
        if let After::Entity(after) = &mut first.after {
            after.alarm = old;
        }
        Some(first)
    }

    fn bare(write: &Write, guard: Guard, after: Entity) -> Write {
        let touched = Touched::All;
        Write { touched, ..Write::new(write.partition, write.key.clone(), guard, After::Entity(Box::new(after))) }
    }

    fn fresh_version(at: &Shared, key: &Key) -> Option<Version> {
        at.lock().lease_of(key).ok().map(|lease| lease.next_version())
    }

    pub(crate) fn doubled_delivery(at: &Shared, batch: &InFlightBatch, rulings: &[Option<Ruling>]) {
        if !Bug::DoubledDelivery.planted() {
            return;
        }
        let applied = batch.batch.writes.iter().zip(rulings).filter(|(_, ruling)| ruling.is_some());
        let again = applied.filter(|(write, _)| !write.sent.is_empty()).map(|(write, _)| write);
        at.with(|core, released| {
            for write in again {
                core.send_again(write, at, released);
            }
        });
    }

    impl Resident {
        fn send_again(&mut self, write: &Write, at: &Shared) {
            self.stack_inbox(at, |chain| {
                for sent in &write.sent {
                    chain.send(|id| Outgoing { id, ..sent.clone() });
                }
            });
        }
    }

    impl Core {
        fn send_again(&mut self, write: &Write, at: &Shared, released: &mut Released) {
            let Some(mut resident) = self.slots.get_mut(&write.key).and_then(|slot| slot.resident.take()) else {
                return;
            };
            resident.send_again(write, at);
            self.put_back(&write.key, resident, Effects::default(), false, at, released);
        }
    }
}
