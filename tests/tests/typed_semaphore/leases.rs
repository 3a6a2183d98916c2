//! Leases, their renewal, and crashes (S4, S5).

use super::*;

#[derive(Primitives)]
struct App {
    lock: Lock,
}

async fn each(test: impl AsyncFn(World<App>, Fakes)) {
    for setup in both() {
        let fakes = Fakes::default();
        test(setup.services(fakes.clone()).start::<App>().await, fakes).await;
    }
}

async fn used(world: &World<App>, lock: &LockHandle) -> (u64, u64) {
    world.settle().await;
    let Stats { used, waiting, .. } = lock.stats().await.unwrap();
    (used, waiting)
}

/// S2, S4: A late release frees nothing.
#[tokio::test]
async fn a_permit_held_across_a_crash_returns_with_its_lease() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let lost = lock.acquire().await.unwrap();
        world.advance(d!("10s")).await; // renewed
        world.restart().await;
        assert!(lost.lost());
        assert!(lock.try_acquire().await.unwrap().is_none());
        let (next, ()) = tokio::join!(biased; lock.acquire().timeout(d!("1m")), world.advance(d!("30s")));
        let next = next.unwrap();
        assert!(next.token() > lost.token());
        assert!(!lost.release().await.unwrap());
        assert_eq!(used(&world, &lock).await, (1, 0));
        assert_eq!(names(&world.events()), ["semaphore.expired"]);
        assert!(!next.lost());
    })
    .await;
}

/// S4
#[tokio::test]
async fn a_permit_is_renewed_as_long_as_it_is_held() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let permit = lock.acquire().await.unwrap();
        world.advance(d!("1h")).await;
        assert!(!permit.lost() && lock.try_acquire().await.unwrap().is_none());
        drop(permit);
        world.settle().await;
        assert!(lock.try_acquire().await.unwrap().is_some());
        world.settle().await;
        assert_eq!(
            world.explain("lock", "a").await.unwrap().to_string(),
            "lock/a: idle; it is at rest until somebody calls"
        );
    })
    .await;
}

/// S2
#[tokio::test]
async fn a_permit_that_cannot_be_renewed_says_so_before_another_holds_it() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let permit = lock.acquire().await.unwrap();
        world.store_fails(Fault::Down);
        world.advance(d!("29s")).await;
        assert!(!permit.lost());
        world.advance(d!("1s")).await;
        assert!(permit.lost());
        world.store_works();
        world.advance(d!("2m")).await;
        assert!(permit.lost(), "what is lost stays lost");
        assert!(lock.acquire().await.unwrap().token() > permit.token());
    })
    .await;
}

/// S2, A5
#[tokio::test]
async fn a_clock_jump_over_the_lease_loses_the_permit() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let permit = lock.acquire().await.unwrap();
        world.jump_clock(31_000).await;
        assert!(permit.lost());
        assert!(lock.try_acquire().await.unwrap().is_some());
    })
    .await;
}

/// S1, S5
#[tokio::test]
async fn a_crash_at_any_commit_leaves_no_more_out_than_there_are() {
    for setup in [World::memory, World::sqlite] {
        for (commit, moment) in (1..5).flat_map(|n| [(n, Moment::Before), (n, Moment::After)]) {
            let world = setup().services(Fakes::default()).start::<App>().await;
            let lock = world.client().lock("a");
            world.crash_at_commit(commit, moment);
            let one = lock.acquire().await;
            let two = tokio::join!(lock.acquire(), async {
                world.settle().await;
                drop(one);
                world.settle().await;
            });
            world.restart().await;
            drop(two);
            // At most one caller holds the lock now, and the lock is free once the lease has ended.
            assert!(lock.stats().await.unwrap().used <= 1);
            world.advance(d!("30s")).await;
            assert_eq!(lock.stats().await.unwrap().used, 0, "{commit} {moment:?}");
            assert!(lock.try_acquire().await.unwrap().is_some());
        }
    }
}
