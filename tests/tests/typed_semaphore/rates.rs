//! Rate limits, floods of permits, and costs (S).

use super::*;

#[derive(Primitives)]
struct App {
    gate: Gate,
    lock: Lock,
    rate: Rate,
    flood: Flood,
}

async fn each(test: impl AsyncFn(World<App>, Fakes)) {
    for setup in both() {
        let fakes = Fakes::default();
        test(setup.services(fakes.clone()).start::<App>().await, fakes).await;
    }
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

/// Two permits in any second.
#[primitive(semaphore, permits = 2, window = "1s")]
struct Rate;

/// S3: A release does not return them.
#[tokio::test]
async fn the_permits_of_a_rate_limit_come_back_with_time() {
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

/// More permits than one turn takes back.
#[primitive(semaphore, permits = 300, window = "1s")]
struct Flood;

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
