//! Leases: which worker owns which partition, by the store's clock.

use crate::{
    Epoch, Millis, Partition,
    store::{
        Claimed, Want,
        conformance::fixture::{LEASE, PARTITIONS, START, World, worker},
    },
};

fn held(claimed: &Claimed) -> Vec<(Partition, Epoch)> {
    claimed.leases.iter().map(|lease| (lease.partition, lease.epoch)).collect()
}

fn partitions(claimed: &Claimed) -> Vec<u32> {
    let mut all: Vec<u32> = claimed.leases.iter().map(|lease| lease.partition.0).collect();
    all.sort_unstable();
    all
}

/// R3
pub async fn a_new_store_has_its_partitions_free_and_clean(world: &mut World) {
    let claimed = world.take(&worker("one"), 100).await;
    assert_eq!((claimed.partitions, partitions(&claimed)), (PARTITIONS, vec![0, 1, 2, 3]));
    assert!(claimed.leases.iter().all(|lease| lease.clean && lease.highest == Millis(0)));
    assert_eq!(claimed.others, []);
}

/// R3
pub async fn no_more_is_taken_than_asked_for(world: &mut World) {
    assert_eq!(world.take(&worker("one"), 0).await.leases, []);
    assert_eq!(world.take(&worker("one"), 3).await.leases.len(), 3);
}

/// R3, C6
pub async fn a_live_lease_is_not_taken_by_another(world: &mut World) {
    world.take(&worker("one"), 3).await;
    assert_eq!(world.take(&worker("two"), 4).await.leases.len(), 1);
    assert_eq!(world.take(&worker("three"), 4).await.leases, []);
}

/// R3
pub async fn a_lease_ends_at_its_time_and_not_before(world: &mut World) {
    world.take(&worker("one"), 4).await;
    world.clock.set(Millis(START.after(LEASE).0 - 1));
    assert_eq!(world.take(&worker("two"), 4).await.leases, []);
    world.clock.set(START.after(LEASE));
    assert_eq!(world.take(&worker("two"), 4).await.leases.len(), 4);
}

/// R3, A5, fD7
pub async fn leases_go_by_the_clock_of_the_store(world: &mut World) {
    world.now = Millis(5);
    let first = world.take(&worker("one"), 4).await;
    world.clock.set(Millis(START.0 + 7));
    let second = world.renew(&worker("one"), held(&first)).await;
    assert_eq!((first.now, second.now), (START, Millis(START.0 + 7)));
}

/// R3
pub async fn renewing_prolongs_a_lease(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.clock.set(START.after(LEASE / 2));
    let renewed = world.renew(&worker("one"), held(&first)).await;
    assert_eq!(held(&renewed), held(&first));
    world.clock.set(START.after(LEASE));
    assert_eq!(world.take(&worker("two"), 4).await.leases, []);
    world.clock.set(START.after(LEASE + LEASE / 2));
    assert_eq!(world.take(&worker("two"), 4).await.leases.len(), 4);
}

/// R3
pub async fn a_lease_that_another_took_is_not_renewed(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.clock.set(START.after(LEASE));
    let second = world.take(&worker("two"), 2).await;
    let renewed = world.renew(&worker("one"), held(&first)).await;
    assert_eq!(partitions(&second), [0, 1]);
    assert_eq!(partitions(&renewed), [2, 3]);
    assert_eq!(held(&world.renew(&worker("two"), held(&second)).await), held(&second));
}

/// R3
pub async fn a_lease_that_is_over_but_not_taken_can_be_renewed(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.clock.set(START.after(LEASE * 3));
    assert_eq!(held(&world.renew(&worker("one"), held(&first)).await), held(&first));
    assert_eq!(world.take(&worker("two"), 4).await.leases, []);
}

/// R2
pub async fn a_clean_end_is_seen_by_the_next_owner(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    let released = world.release(&worker("one"), held(&first), true).await;
    assert_eq!(released.leases, []);
    let next = world.take(&worker("two"), 4).await;
    assert!(next.leases.len() == 4 && next.leases.iter().all(|lease| lease.clean));
}

/// R2, W2
pub async fn an_end_that_was_not_clean_is_seen_by_the_next_owner(world: &mut World) {
    let first = world.take(&worker("one"), 2).await;
    world.release(&worker("one"), held(&first), false).await;
    world.take(&worker("two"), 4).await;
    world.clock.set(START.after(LEASE));
    let last = world.take(&worker("three"), 4).await;
    assert!(last.leases.len() == 4 && last.leases.iter().all(|lease| !lease.clean));
}

/// R2
pub async fn a_released_partition_given_up_uncleanly_is_not_clean(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.release(&worker("one"), held(&first), false).await;
    assert!(world.take(&worker("two"), 4).await.leases.iter().all(|lease| !lease.clean));
}

/// W2
pub async fn who_takes_a_partition_learns_the_epoch_of_the_owner_that_ended_before(world: &mut World) {
    let first = world.take(&worker("one"), 2).await;
    world.renew(&worker("one"), held(&first)).await;
    world.clock.set(START.after(LEASE * 2));
    let next = world.take(&worker("two"), 2).await;
    let before: Vec<_> = next.leases.iter().map(|lease| (lease.partition, lease.before)).collect();
    assert_eq!(before, held(&first));
}

/// R3
pub async fn what_is_released_is_free_at_once(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.release(&worker("one"), held(&first)[1..3].to_vec(), true).await;
    assert_eq!(partitions(&world.take(&worker("two"), 4).await), [1, 2]);
}

/// R3
pub async fn who_does_not_hold_a_partition_cannot_release_it(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.clock.set(START.after(LEASE));
    world.take(&worker("two"), 4).await;
    world.release(&worker("one"), held(&first), true).await;
    assert_eq!(world.take(&worker("three"), 4).await.leases, []);
    world.clock.set(START.after(LEASE * 2));
    assert!(world.take(&worker("three"), 4).await.leases.iter().all(|lease| !lease.clean));
}

/// R3
pub async fn who_takes_more_keeps_what_it_has(world: &mut World) {
    assert_eq!(partitions(&world.take(&worker("one"), 2).await), [0, 1]);
    assert_eq!(partitions(&world.take(&worker("one"), 4).await), [2, 3]);
    assert_eq!(world.take(&worker("one"), 4).await.leases, []);
}

/// R3, R4
pub async fn a_worker_that_released_its_own_takes_it_again_under_a_new_epoch(world: &mut World) {
    let first = world.take(&worker("one"), 4).await;
    world.release(&worker("one"), held(&first), true).await;
    let again = world.take(&worker("one"), 4).await;
    assert_eq!(partitions(&again), [0, 1, 2, 3]);
    let newest = first.leases.iter().map(|lease| lease.epoch).max();
    assert!(again.leases.iter().all(|lease| Some(lease.epoch) > newest && lease.clean));
    assert_eq!(world.renew(&worker("one"), held(&first)).await.leases, []);
}

/// R3
pub async fn the_owners_of_the_others_are_named(world: &mut World) {
    world.take(&worker("one"), 2).await;
    let claimed = world.take(&worker("two"), 1).await;
    let others = [(Partition(0), "one.example:80".to_owned()), (Partition(1), "one.example:80".to_owned())];
    assert_eq!(claimed.others, others);
    let renewed = world.renew(&worker("one"), Vec::new()).await;
    assert_eq!(renewed.others, [(Partition(2), "two.example:80".to_owned())]);
}

/// R3
pub async fn owners_whose_leases_are_over_are_not_named(world: &mut World) {
    world.take(&worker("one"), 4).await;
    world.clock.set(START.after(LEASE));
    assert_eq!(world.renew(&worker("two"), Vec::new()).await.others, []);
}

/// A5, fD4
pub async fn a_lease_without_end_does_not_overflow(world: &mut World) {
    let want = Want::Take { at_most: 4, lease: std::time::Duration::MAX };
    assert_eq!(world.claim(&worker("one"), want).await.leases.len(), 4);
    world.clock.set(Millis(i64::MAX - 1));
    assert_eq!(world.take(&worker("two"), 4).await.leases, []);
}

/// R3
pub async fn renewing_a_partition_that_does_not_exist_gives_nothing(world: &mut World) {
    assert_eq!(world.renew(&worker("one"), vec![(Partition(99), Epoch(1))]).await.leases, []);
    world.release(&worker("one"), vec![(Partition(99), Epoch(1))], true).await;
}
