//! A semaphore whose number of permits changes with the code (E11).

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

/// E11: With more permits it is given at once.
#[tokio::test]
async fn with_fewer_permits_nothing_is_given_until_it_fits() {
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
