//! When ticks run (C).

use super::*;

#[derive(Primitives)]
struct App {
    heart: Heart,
    eager: Eager,
    patient: Patient,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes { log: Log::default(), latch: Latch::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

fn slow(seconds: u64) -> Beat {
    Beat { takes_ms: seconds * 1_000, ..Beat::default() }
}

async fn heart(world: &World<App>) -> Status {
    world.client().heart("a").status().await.unwrap().unwrap()
}

/// C1, C2
#[tokio::test]
async fn a_fixed_rate_keeps_its_grid_and_counts_the_points_it_skips() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        assert_eq!(world.client().heart("a").start_with(Heart(slow(25))).await.unwrap(), Started::Started);
        world.advance(d!("99s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 40), (1, 70)]);
        let status = heart(&world).await;
        assert_eq!((status.run_count, status.skipped), (3, 6));
    }
}

/// C1
#[tokio::test]
async fn a_fixed_delay_is_counted_from_the_end_of_a_tick() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().patient("a").start_with(Patient(slow(25))).await.unwrap();
        world.advance(d!("100s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 45), (1, 80)]);
        let status = world.client().patient("a").status().await.unwrap().unwrap();
        assert_eq!((status.run_count, status.skipped), (2, 0));
    }
}

/// C2
#[tokio::test]
async fn the_first_tick_is_after_one_interval_or_at_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().eager("a").start().await.unwrap();
        assert_eq!(runs(&fakes), [(1, 0)]);
        world.client().heart("b").start().await.unwrap();
        world.advance(d!("9999ms")).await;
        assert_eq!(runs(&fakes), []);
        world.advance(d!("1ms")).await;
        assert_eq!(runs(&fakes), [(1, 10), (1, 10)]);
    }
}

/// C6
#[tokio::test]
async fn there_are_never_two_ticks_of_one_entity_at_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let heart = world.client().heart("a");
        heart.start_with(Heart(waiting())).await.unwrap();
        world.advance(d!("1h")).await;
        heart.stop().await.unwrap();
        heart.start().await.unwrap();
        heart.trigger().await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes).len(), 1);
        fakes.latch.open();
        world.settle().await;
        assert_eq!((runs(&fakes).len(), heart.status().await.unwrap().unwrap().run_count), (1, 2));
    }
}
