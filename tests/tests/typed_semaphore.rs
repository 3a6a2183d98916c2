//! Semaphores and rate limits: who gets a permit, when the permit comes back, and what its holder learns.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    AcquireError, Client, Failure, Permit, Primitives, Services, d,
    kinds::semaphore::Stats,
    primitive,
    testing::{Fault, Latch, Log, Moment, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

/// Three permits at once.
#[primitive(semaphore, permits = 3, lease = "30s")]
struct Gate;

/// One permit at once.
#[primitive(semaphore, permits = 1, lease = "30s")]
struct Lock;

/// Two permits in any second.
#[primitive(semaphore, permits = 2, window = "1s")]
struct Rate;

/// More permits than one turn takes back.
#[primitive(semaphore, permits = 300, window = "1s")]
struct Flood;

/// Holds the lock while the latch is closed.
#[derive(Default, Serialize, Deserialize)]
struct Visitor {
    visits: u32,
}

#[primitive(object)]
impl Visitor {
    async fn visit(&mut self, lock: &Client<Lock>, latch: &Latch, log: &Log) -> Result<u64, Failure> {
        let permit = lock.get("door").acquire().await?;
        log.say("inside");
        latch.clone().wait().await;
        self.visits += 1;
        Ok(permit.token())
    }
}

#[derive(Primitives)]
struct App {
    gate: Gate,
    lock: Lock,
    rate: Rate,
    flood: Flood,
    visitor: Visitor,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
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

/// S1
#[tokio::test]
async fn permits_are_out_up_to_their_weight_and_come_back_when_released_or_dropped() {
    each(async |world, _| {
        let gate = world.client().gate("a");
        assert_eq!(gate.stats().await.unwrap(), Stats { permits: 3, ..Stats::default() });
        let two = gate.acquire().weight(2).await.unwrap();
        let one = gate.try_acquire().await.unwrap().unwrap();
        assert_eq!((two.weight(), one.weight(), two.lost()), (2, 1, false));
        assert!(gate.try_acquire().await.unwrap().is_none());
        drop(one);
        assert!(gate.try_acquire().weight(2).await.unwrap().is_none());
        assert!(two.release().await.unwrap());
        let all = gate.try_acquire().weight(3).await.unwrap().unwrap();
        let stats = gate.stats().await.unwrap();
        assert_eq!((stats.used, stats.holders.len(), stats.holders[0].token), (3, 1, all.token()));
        let status = gate.status().await.unwrap().unwrap();
        assert_eq!((status.permits, status.used, status.waiting, status.token), (3, 3, 0, all.token()));
    })
    .await;
}

/// S1
#[tokio::test]
async fn more_than_there_are_is_refused_and_nothing_is_no_permit() {
    each(async |world, _| {
        let gate = world.client().gate("a");
        let refused = gate.acquire().weight(4).await.unwrap_err();
        assert!(matches!(refused, AcquireError::TooHeavy { weight: 4, permits: 3 }), "{refused}");
        assert!(matches!(gate.try_acquire().weight(9).await, Err(AcquireError::TooHeavy { .. })));
        assert!(matches!(gate.acquire().weight(0).await, Err(AcquireError::Fault(_))));
    })
    .await;
}

/// S1
#[tokio::test]
async fn who_asks_first_is_served_first_and_nobody_overtakes() {
    each(async |world, fakes| {
        let gate = world.client().gate("a");
        let held = gate.acquire().weight(2).await.unwrap();
        let enter = async |name: &str, weight: u64| {
            let permit = gate.acquire().weight(weight).await.unwrap();
            fakes.log.say(name);
            permit
        };
        let script = async {
            let stats = gate.stats().await.unwrap();
            assert_eq!(
                (stats.waiting, stats.line.iter().map(|one| one.weight).collect::<Vec<_>>()),
                (3, vec![3, 1, 1])
            );
            // One permit would fit, but the first in line wants three.
            assert!(gate.try_acquire().await.unwrap().is_none());
            assert!(fakes.log.take().is_empty());
            drop(held);
            world.settle().await;
            assert_eq!(fakes.log.take(), ["heavy"]);
            fakes.latch.open();
        };
        let heavy = async {
            let permit = enter("heavy", 3).await;
            fakes.latch.clone().wait().await;
            drop(permit);
            world.settle().await;
        };
        let ((), first, second, ()) = tokio::join!(biased; heavy, enter("first", 1), enter("second", 1), script);
        assert_eq!(fakes.log.take(), ["first", "second"]);
        assert!(first.token() < second.token());
    })
    .await;
}

/// S1
#[tokio::test]
async fn who_leaves_leaves_the_line_and_the_next_one_moves_up() {
    each(async |world, _| {
        let gate = world.client().gate("a");
        let held = gate.acquire().weight(2).await.unwrap();
        // The first in line wants more permits than are free. When its timeout is over, the next caller
        // gets one.
        let impatient = async {
            let refused = gate.acquire().weight(3).timeout(d!("5s")).await.unwrap_err();
            assert!(matches!(refused, AcquireError::TimedOut), "{refused}");
            world.now()
        };
        let behind = async { (gate.acquire().await.unwrap(), world.now()) };
        let (began, passing) = (world.now(), world.advance(d!("5s")));
        let (gave_up, (permit, entered), ()) = tokio::join!(biased; impatient, behind, passing);
        assert_eq!((gave_up, entered), (began.after(d!("5s")), gave_up));
        assert_eq!(gate.stats().await.unwrap().waiting, 0);
        drop((held, permit));
        world.settle().await;
        assert_eq!(gate.stats().await.unwrap(), Stats { permits: 3, ..Stats::default() });
    })
    .await;
}

/// S1
#[tokio::test]
async fn a_permit_that_was_on_its_way_to_one_who_left_comes_back_at_once() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let held = lock.acquire().await.unwrap();
        let kernel = world.kernel();
        let waiting = {
            let call = drystone::runtime::Call::new("lock", "a", "acquire", "[1]");
            tokio::spawn(async move { kernel.call(call).await })
        };
        tokio::task::yield_now().await;
        assert_eq!(used(&world, &lock).await, (1, 1));
        // The caller leaves after the grant, before it has seen it.
        drop(held);
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(used(&world, &lock).await, (0, 0));
    })
    .await;
}

/// S2
#[tokio::test]
async fn tokens_grow_also_over_the_end_of_an_entity_and_a_crash() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let mut last = 0;
        for round in 0..6 {
            let permit = lock.acquire().await.unwrap();
            assert!(permit.token() > last && permit.token() < 1 << 53, "{} after {last}", permit.token());
            last = permit.token();
            permit.release().await.unwrap();
            match round {
                1 => {
                    assert!(lock.destroy().await.unwrap());
                    world.advance(d!("1ms")).await;
                }
                3 => assert_eq!(world.restart().await.unclean, 1),
                _ => {}
            }
        }
    })
    .await;
}

/// S2, S4
#[tokio::test]
async fn a_permit_held_across_a_crash_comes_back_when_its_lease_ends_and_a_late_release_frees_nothing() {
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
async fn a_clock_that_jumps_over_the_end_of_a_lease_loses_the_permit() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let permit = lock.acquire().await.unwrap();
        world.jump_clock(31_000).await;
        assert!(permit.lost());
        assert!(lock.try_acquire().await.unwrap().is_some());
    })
    .await;
}

/// S3
#[tokio::test]
async fn the_permits_of_a_rate_limit_come_back_with_time_and_not_when_released() {
    each(async |world, _| {
        let rate = world.client().rate("a");
        let first = rate.acquire().await.unwrap();
        world.advance(d!("600ms")).await;
        drop(rate.acquire().await.unwrap());
        assert!(!first.release().await.unwrap());
        assert!(rate.try_acquire().await.unwrap().is_none());
        let began = world.now();
        let next = async { (rate.acquire().await.unwrap(), world.now()) };
        let after_next = async { (rate.acquire().await.unwrap(), world.now()) };
        let ((_next, one), (_after_next, other), ()) = tokio::join!(biased; next, after_next, world.advance(d!("2s")));
        assert_eq!((one, other), (began.after(d!("400ms")), began.after(d!("1s"))));
        assert_eq!(rate.stats().await.unwrap().used, 0);
        world.settle().await;
        assert_eq!(rate.status().await.unwrap().unwrap().used, 0);
    })
    .await;
}

/// S3
#[tokio::test]
async fn a_flood_of_permits_comes_back_in_slices_at_one_moment() {
    each(async |world, _| {
        let flood = world.client().flood("a");
        for _ in 0..300 {
            let _ = flood.try_acquire().await.unwrap().unwrap();
        }
        let began = world.now();
        let all = async { (flood.acquire().weight(300).await.unwrap(), world.now()) };
        let ((_all, entered), ()) = tokio::join!(biased; all, world.advance(d!("1s")));
        assert_eq!((entered, flood.stats().await.unwrap().used), (began.after(d!("1s")), 300));
        world.advance(d!("1s")).await;
        assert_eq!(flood.status().await.unwrap().unwrap().used, 0);
    })
    .await;
}

/// S4, M3
#[tokio::test]
async fn an_entitys_code_holds_a_permit_like_any_other() {
    each(async |world, Fakes { log, latch }| {
        let (lock, visitor) = (world.client().lock("door"), world.client().visitor("anna"));
        let script = async {
            world.advance(d!("20s")).await;
            assert_eq!((log.take(), used(&world, &lock).await), (vec!["inside".to_owned()], (1, 0)));
            latch.open();
            world.settle().await;
        };
        let (token, ()) = tokio::join!(visitor.visit(), script);
        assert!(token.unwrap() > 0);
        assert_eq!(used(&world, &lock).await, (0, 0));
    })
    .await;
}

/// S4, E8
#[tokio::test]
async fn a_semaphore_that_is_destroyed_takes_its_permits_and_its_line_with_it() {
    each(async |world, _| {
        let lock = world.client().lock("a");
        let permit = lock.acquire().await.unwrap();
        let (waited, destroyed) = tokio::join!(lock.acquire(), lock.destroy());
        assert!(matches!(waited, Err(AcquireError::Fault(drystone::Error::Destroyed { .. }))) && destroyed.unwrap());
        let next: Permit = lock.try_acquire().await.unwrap().unwrap();
        assert!(!permit.release().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!((used(&world, &lock).await, next.lost()), ((1, 0), false));
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

/// The costs of an operation in commits, entity writes, rows and read calls, as in ARCHITECTURE.md.
async fn cost(world: &World<App>, deed: impl Future<Output = ()>) -> (u64, u64, u64, u64) {
    let before = world.counts();
    deed.await;
    let spent = world.counts().since(before);
    (spent.commits, spent.entities, spent.rows, spent.read_calls)
}

/// S1
#[tokio::test]
async fn every_deed_changes_a_few_rows_however_many_hold_and_wait() {
    each(async |world, _| {
        let gate = world.client().gate("a");
        let _held = gate.acquire().weight(2).await.unwrap();
        let mut permit = None;
        let acquired = cost(&world, async { permit = gate.try_acquire().await.unwrap() }).await;
        assert_eq!(acquired, (1, 1, 2, 0));
        assert_eq!(cost(&world, async { assert!(gate.try_acquire().await.unwrap().is_none()) }).await, (0, 0, 0, 0));
        let waiting = gate.acquire();
        let script = async {
            let waits = cost(&world, world.settle()).await;
            let renewed = cost(&world, world.advance(d!("10s"))).await;
            let handed_on = cost(&world, async { assert!(permit.unwrap().release().await.unwrap()) }).await;
            (waits, renewed, handed_on)
        };
        let (next, (waits, renewed, handed_on)) = tokio::join!(biased; waiting, script);
        assert!(next.is_ok());
        assert_eq!((waits, renewed, handed_on), ((1, 1, 1, 0), (2, 2, 6, 2), (1, 1, 5, 2)));
    })
    .await;
}

mod other_options {
    use super::*;

    #[primitive(semaphore, permits = 1)]
    struct Few;

    #[primitive(semaphore, permits = 3)]
    struct Many;

    #[derive(Primitives)]
    struct Before {
        desk: Few,
    }

    #[derive(Primitives)]
    struct After {
        desk: Many,
    }

    /// E11
    #[tokio::test]
    async fn with_fewer_permits_nothing_is_given_until_it_fits_and_with_more_at_once() {
        for setup in both() {
            let world = setup.start::<After>().await;
            let desk = world.client().desk("a");
            let two = desk.acquire().weight(2).await.unwrap();
            let world = world.restart_as::<Before, ()>(()).await.unwrap();
            let desk = world.client().desk("a");
            assert!(desk.try_acquire().await.unwrap().is_none());
            assert_eq!(desk.stats().await.unwrap().used, 2);
            drop(two);
            world.advance(d!("30s")).await;
            let one = desk.try_acquire().await.unwrap().unwrap();
            let world = world.restart_as::<After, ()>(()).await.unwrap();
            let more = world.client().desk("a").try_acquire().weight(2).await.unwrap();
            assert!(more.is_some_and(|more| more.token() > one.token()));
        }
    }
}
