//! The highest time: our time never goes back, even if the clock of a worker or store does.

use crate::{
    Millis, Partition,
    store::conformance::fixture::{LEASE, START, World, birth, key_in, worker},
};

/// A5
pub async fn the_highest_time_told_by_a_batch_is_kept(world: &mut World) {
    world.own(&worker("one")).await;
    world.now = Millis(5_000_000);
    world.commit(Vec::new()).await;
    world.now = Millis(4_000_000);
    world.commit(Vec::new()).await;
    assert_eq!(world.renew(&worker("two"), Vec::new()).await.highest, Millis(5_000_000));
}

/// A5
pub async fn renewing_and_releasing_tell_the_time(world: &mut World) {
    let claimed = world.own(&worker("one")).await;
    let held = |index: usize| vec![(claimed.leases[index].partition, claimed.leases[index].epoch)];
    world.now = Millis(6_000_000);
    let renewed = world.renew(&worker("one"), held(0)).await;
    assert_eq!((renewed.highest, renewed.leases[0].highest), (Millis(6_000_000), Millis(6_000_000)));
    world.now = Millis(7_000_000);
    assert_eq!(world.release(&worker("one"), held(1), true).await.highest, Millis(7_000_000));
}

/// A5
pub async fn the_highest_time_of_a_lease_is_its_partitions(world: &mut World) {
    world.own(&worker("one")).await;
    let all = std::mem::take(&mut world.epochs);
    for (partition, now) in [(Partition(1), Millis(2_000_000)), (Partition(2), Millis(3_000_000))] {
        world.epochs = [(partition, all[&partition])].into();
        world.now = now;
        world.commit(Vec::new()).await;
    }
    world.clock.set(START.after(LEASE));
    let claimed = world.take(&worker("two"), 4).await;
    let highest: Vec<i64> = claimed.leases.iter().map(|lease| lease.highest.0).collect();
    assert_eq!((highest, claimed.highest), (vec![START.0, 2_000_000, 3_000_000, START.0], Millis(3_000_000)));
}

/// W2
pub async fn who_takes_a_partition_is_told_what_the_one_before_was_told_and_tells_the_clock(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    assert!(first.leases.iter().all(|lease| lease.highest == Millis(0)));
    world.clock.set(START.after(LEASE));
    let second = world.take(&worker("two"), 4).await;
    assert!(second.leases.iter().all(|lease| lease.highest == START));
}

/// A5, R3
pub async fn a_fenced_worker_tells_no_time(world: &mut World) {
    let first = world.own(&worker("one")).await;
    world.clock.set(START.after(LEASE));
    world.take(&worker("two"), 4).await;
    world.now = Millis::MAX;
    let entity = world.born(&key_in(0, 0));
    world.write(birth(&entity)).await;
    let held: Vec<_> = first.leases.iter().map(|lease| (lease.partition, lease.epoch)).collect();
    world.renew(&worker("one"), held.clone()).await;
    let claimed = world.release(&worker("one"), held, true).await;
    assert_eq!(claimed.highest, START.after(LEASE));
}

/// A5
pub async fn the_clock_of_the_store_is_not_the_time_it_was_told(world: &mut World) {
    world.own(&worker("one")).await;
    world.now = Millis(9_000_000);
    world.commit(Vec::new()).await;
    let claimed = world.renew(&worker("one"), Vec::new()).await;
    assert_eq!((claimed.now, claimed.highest), (START, Millis(9_000_000)));
}
