//! Who gets a permit, and when (S1, S2, S3).

use super::*;

#[derive(Primitives)]
struct App {
    gate: Gate,
    lock: Lock,
    visitor: Visitor,
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

/// S1: Permits are given up to the weight of the semaphore.
#[tokio::test]
async fn permits_come_back_when_released_or_dropped() {
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
async fn a_permit_in_flight_to_a_caller_who_left_comes_back() {
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
async fn a_destroyed_semaphore_takes_its_permits_and_its_line_along() {
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
