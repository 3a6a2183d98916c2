//! Epochs: a worker that was replaced cannot write.

use std::collections::BTreeSet;

use crate::{
    Epoch, Millis, Partition,
    store::{
        Verdict, Write,
        conformance::fixture::{LEASE, START, World, birth, key_in, message, put, reply, unbound, worker},
    },
};

/// R3
pub async fn epochs_only_grow_and_none_is_given_twice(world: &mut World) {
    let mut seen = BTreeSet::new();
    for round in 0..5 {
        let leases = world.take(&worker("one"), 4).await.leases;
        assert_eq!(leases.len(), 4);
        let floor = seen.last().copied().unwrap_or(Epoch(0));
        for lease in &leases {
            assert!(lease.epoch > floor && seen.insert(lease.epoch), "epoch {:?} in round {round}", lease.epoch);
        }
        world.release(&worker("one"), leases.iter().map(|lease| (lease.partition, lease.epoch)).collect(), true).await;
    }
}

/// R3
pub async fn an_epoch_fits_the_upper_half_of_a_signed_version(world: &mut World) {
    let leases = world.take(&worker("one"), 4).await.leases;
    assert!(leases.iter().all(|lease| lease.epoch.0 > 0 && lease.epoch.0 < 1 << 31));
}

/// R3, E4
pub async fn a_batch_that_was_overtaken_is_fenced_and_changes_nothing(world: &mut World) {
    world.own(&worker("one")).await;
    let entity = world.born(&key_in(0, 0));
    let late = world.batch(vec![birth(&entity)]);
    let retried = world.batch(vec![birth(&entity)]);
    assert_eq!(world.store.commit(&retried).await.expect("a batch is answered"), [Verdict::Applied]);
    let (_, mut end) = world.touch(&entity);
    end.after = crate::store::After::Destroyed;
    assert_eq!(world.write(end).await, Verdict::Applied);
    let epoch = world.epochs[&Partition(0)];
    assert_eq!(world.store.commit(&late).await.expect("a batch is answered"), [Verdict::Fenced(epoch)]);
    assert_eq!(world.entity(&entity.key).await, None);
}

/// R3, C6
pub async fn a_write_of_a_replaced_owner_is_fenced_and_changes_nothing(world: &mut World) {
    world.own(&worker("one")).await;
    let entity = world.bind(&key_in(0, 0)).await;
    world.clock.set(START.after(LEASE));
    let leases = world.take(&worker("two"), 4).await.leases;
    let (after, write) = world.touch(&entity);
    let write = Write {
        rows: put("lane", ["row"]),
        sent: vec![message(after.version, 0, &key_in(1, 0))],
        remember: vec![reply(b"once", Millis::MAX)],
        ..write
    };
    assert_eq!(world.write(write).await, Verdict::Fenced(leases[0].epoch));
    assert_eq!(world.entity(&entity.key).await, Some(entity.clone()));
    assert!(world.lane(entity.id, "lane").await.is_empty());
    assert!(world.inbox(&key_in(1, 0)).await.is_empty());
    assert_eq!(world.remembered(&entity.key, b"once").await, None);
}

/// R3
pub async fn a_lost_partition_fences_its_own_writes_only(world: &mut World) {
    world.own(&worker("one")).await;
    let (lost, kept) = (world.born(&key_in(1, 0)), world.born(&key_in(2, 0)));
    let old = world.epochs[&Partition(1)];
    world.release(&worker("one"), vec![(Partition(1), old)], true).await;
    let taken = world.take(&worker("two"), 1).await.leases[0];
    assert_eq!(taken.partition, Partition(1));
    let verdicts = world.commit(vec![birth(&lost), birth(&kept)]).await;
    assert_eq!(verdicts, [Verdict::Fenced(taken.epoch), Verdict::Applied]);
    assert_eq!((world.entity(&lost.key).await, world.entity(&kept.key).await), (None, Some(kept)));
}

/// R2, R3
pub async fn who_released_a_partition_writes_there_no_more(world: &mut World) {
    world.own(&worker("one")).await;
    let entity = world.born(&key_in(0, 0));
    let epoch = world.epochs[&Partition(0)];
    world.release(&worker("one"), vec![(Partition(0), epoch)], true).await;
    let verdict = world.write(birth(&entity)).await;
    assert!(matches!(verdict, Verdict::Fenced(found) if found != epoch), "{verdict:?}");
    assert_eq!(world.entity(&entity.key).await, None);
}

/// R3
pub async fn an_epoch_that_was_never_given_is_fenced(world: &mut World) {
    world.own(&worker("one")).await;
    let epoch = world.epochs[&Partition(0)];
    let entity = world.born(&key_in(0, 0));
    world.epochs.insert(Partition(0), Epoch(epoch.0 + 1000));
    assert_eq!(world.write(birth(&entity)).await, Verdict::Fenced(epoch));
}

/// R3
pub async fn a_partition_that_nobody_owned_is_fenced(world: &mut World) {
    world.epochs.insert(Partition(0), Epoch(1));
    assert!(matches!(world.write(unbound(&key_in(0, 0))).await, Verdict::Fenced(_)));
}

/// R3
pub async fn a_write_whose_partition_is_not_named_is_refused(world: &mut World) {
    world.own(&worker("one")).await;
    let entity = world.born(&key_in(0, 0));
    world.epochs.remove(&Partition(0));
    world.refused(birth(&entity)).await;
    assert_eq!(world.entity(&entity.key).await, None);
}

/// R3
pub async fn the_new_owner_goes_on_where_the_old_one_ended(world: &mut World) {
    world.own(&worker("one")).await;
    let before = world.bind(&key_in(0, 0)).await;
    world.clock.set(START.after(LEASE));
    world.own(&worker("two")).await;
    let (after, write) = world.touch(&before);
    assert!(after.version > before.version);
    world.applied(write).await;
    assert_eq!(world.entity(&before.key).await, Some(after));
}

/// R3
pub async fn a_lease_that_is_over_but_not_taken_still_writes(world: &mut World) {
    world.own(&worker("one")).await;
    world.clock.set(START.after(LEASE * 10));
    world.bind(&key_in(0, 0)).await;
}
