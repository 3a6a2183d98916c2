//! Reopening: acknowledged writes are still there. A store without a disk is not closed, and keeps them as
//! well.

use bytes::Bytes;

use crate::{
    Fingerprint, Millis, Partition,
    store::{
        Config, Found, Read, Verdict, Write,
        conformance::fixture::{
            LEASE, PARTITIONS, START, World, birth, both, destroy, drop_lane, key, key_in, message, put, reply, worker,
        },
    },
};

/// E4, R1
pub async fn everything_is_there_after_reopening(world: &mut World) {
    let entity = world.born(&key("a"));
    let write = Write {
        rows: put("lane", ["1", "2"]),
        sent: vec![message(entity.version, 0, &key("b"))],
        remember: vec![reply(b"once", Millis::MAX)],
        ..birth(&entity)
    };
    let mut batch = world.batch(vec![write]);
    let (definition, fingerprint) = ("counter".into(), Fingerprint(7));
    batch.configs = vec![Config { definition, fingerprint, body: Bytes::from_static(b"config") }];
    assert_eq!(world.store.commit(&batch).await.expect("a batch is answered"), [Verdict::Applied]);
    let letters = world.inbox(&key("b")).await;
    world.reopen().await;
    assert_eq!(world.entity(&key("a")).await, Some(entity.clone()));
    assert_eq!(world.lane(entity.id, "lane").await, ["1", "2"]);
    assert_eq!(world.inbox(&key("b")).await, letters);
    assert_eq!(world.remembered(&key("a"), b"once").await, Some(reply(b"once", Millis::MAX)));
    let read = Read::Config { definition: "counter".into(), fingerprint };
    assert_eq!(world.read(read).await, Found::Config(Some(Bytes::from_static(b"config"))));
}

/// R3
pub async fn epochs_go_on_after_reopening(world: &mut World) {
    let newest = world.epochs.values().copied().max();
    world.clock.set(START.after(LEASE));
    world.reopen().await;
    let claimed = world.take(&worker("two"), 4).await;
    assert!(claimed.leases.len() == 4 && claimed.leases.iter().all(|lease| Some(lease.epoch) > newest));
}

/// R3
pub async fn an_owner_that_nobody_replaced_goes_on_after_reopening(world: &mut World) {
    let before = world.bind(&key("a")).await;
    world.reopen().await;
    let (after, write) = world.touch(&before);
    world.applied(write).await;
    assert_eq!(world.entity(&key("a")).await, Some(after));
}

/// R3
pub async fn an_owner_that_was_replaced_stays_so_after_reopening(world: &mut World) {
    let entity = world.born(&key_in(0, 0));
    world.clock.set(START.after(LEASE));
    let taken = world.take(&worker("two"), 4).await.leases[0];
    world.reopen().await;
    assert_eq!(world.write(birth(&entity)).await, Verdict::Fenced(taken.epoch));
}

/// R2
pub async fn a_clean_end_is_known_after_reopening(world: &mut World) {
    let held = [Partition(0), Partition(1)].map(|partition| (partition, world.epochs[&partition]));
    world.release(&worker("one"), held.into(), true).await;
    world.clock.set(START.after(LEASE));
    world.reopen().await;
    let mut leases = world.take(&worker("two"), 4).await.leases;
    leases.sort_by_key(|lease| lease.partition);
    let clean: Vec<bool> = leases.iter().map(|lease| lease.clean).collect();
    assert_eq!(clean, [true, true, false, false]);
}

/// A5
pub async fn the_highest_time_outlives_reopening(world: &mut World) {
    world.now = Millis(8_000_000);
    world.commit(Vec::new()).await;
    world.reopen().await;
    let claimed = world.renew(&worker("two"), Vec::new()).await;
    assert_eq!((claimed.highest, claimed.partitions), (Millis(8_000_000), PARTITIONS));
}

/// K6, D2
pub async fn what_was_dropped_or_held_stays_so_after_reopening(world: &mut World) {
    let entity = world.born(&key_in(0, 0));
    let rows = both(&put("dropped", ["1"]), &put("held", ["1"]));
    world.applied(Write { rows, ..birth(&entity) }).await;
    let drop = vec![drop_lane("dropped", false), drop_lane("held", true)];
    world.applied(Write { drop, ..destroy(&entity) }).await;
    world.reopen().await;
    assert!(world.lane(entity.id, "dropped").await.is_empty());
    assert_eq!(world.lane(entity.id, "held").await, ["1"]);
    assert!(world.sweep_all(world.now, 10).await >= 1);
}
