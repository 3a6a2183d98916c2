//! Ticks that fail or hang (C).

use super::*;

#[derive(Primitives)]
struct App {
    heart: Heart,
    stubborn: Stubborn,
    mortal: Mortal,
    composed: Composed,
    hasty: Hasty,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes { log: Log::default(), latch: Latch::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

async fn heart(world: &World<App>) -> Status {
    world.client().heart("a").status().await.unwrap().unwrap()
}

/// C4, C5: Attempts are counted in all.
#[tokio::test]
async fn the_last_failed_attempt_stops_the_entity_with_its_state() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let client = world.client().heart("a");
        client.start_with(Heart(failing(9))).await.unwrap();
        world.advance(d!("11s")).await;
        let once = heart(&world).await;
        assert_eq!((once.status, once.consecutive_failures, once.run_count), (Standing::Running, 1, 0));
        assert_eq!(once.next_run_at.unwrap().since(once.last_run_at.unwrap()), d!("2s"));
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14)]);
        let status = heart(&world).await;
        assert_eq!((status.status, status.consecutive_failures, status.next_run_at), (Standing::Error, 3, None));
        assert_eq!(status.errors.len(), 3);
        assert_eq!((status.errors[2].error.message(), Some(status.errors[2].at)), ("out of step", status.last_run_at));
        assert_eq!(client.state().await.unwrap().unwrap(), Heart(failing(9)));
        let view = world.view("heart", "a").await.unwrap().unwrap();
        assert_eq!((view.meta.status.as_str(), view.meta.is_failing, view.meta.alarm), ("error", true, None));
        assert_eq!(client.start().await.unwrap(), Started::Resumed);
        let resumed = heart(&world).await;
        assert_eq!((resumed.consecutive_failures, resumed.errors.len()), (0, 0));
    }
}

/// C5: Up to `max_attempts`.
#[tokio::test]
async fn the_pauses_of_a_composed_plan_come_in_order() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().composed("a").start_with(Composed(failing(9))).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 60), (2, 61), (3, 62), (4, 67), (5, 77)]);
        let status = world.client().composed("a").status().await.unwrap().unwrap();
        assert_eq!((status.status, status.consecutive_failures), (Standing::Error, 5));
    }
}

/// C5
#[tokio::test]
async fn a_success_resets_the_count_of_failures() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().heart("a").start_with(Heart(failing(2))).await.unwrap();
        world.advance(d!("25s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14), (1, 20), (2, 22), (3, 24)]);
        let status = heart(&world).await;
        assert_eq!((status.status, status.consecutive_failures, status.run_count), (Standing::Running, 0, 2));
        assert_eq!(world.client().heart("a").state().await.unwrap().unwrap().0.beats, 2);
    }
}

/// C5, A3: A dead letter has its last state.
#[tokio::test]
async fn an_exhausted_entity_continues_or_is_destroyed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let client = world.client();
        client.stubborn("s").start_with(Stubborn(failing(9))).await.unwrap();
        world.advance(d!("30s")).await;
        assert_eq!(runs(&fakes), [(1, 10), (2, 12), (3, 14), (1, 20), (2, 22), (3, 24), (1, 30)]);
        client.stubborn("s").destroy().await.unwrap();
        client.mortal("m").start_with(Mortal(failing(9))).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!((client.mortal("m").state().await.unwrap(), world.view("mortal", "m").await.unwrap()), (None, None));
        let letters = world.dead_letters().list(Default::default()).await.unwrap().letters;
        assert_eq!(letters.len(), 1);
        let letter = world.dead_letters().get(letters[0].id).await.unwrap();
        assert_eq!((letter.letter.definition.as_str(), letter.letter.key.as_str()), ("mortal", "m"));
        let state = serde_json::to_value(Mortal(failing(9))).unwrap();
        assert_eq!(letter.payload, drystone::dead_letters::Payload::State(state));
        assert_eq!(client.mortal("m").start().await.unwrap(), Started::Started);
    }
}

/// C5, E6: Each attempt is a single execution.
#[tokio::test]
async fn a_tick_that_hangs_ends_with_its_timeout() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let hasty = world.client().hasty("a");
        hasty.start_with(Hasty(waiting())).await.unwrap();
        world.advance(d!("1h")).await;
        assert_eq!(runs(&fakes), [(1, 10)]);
        let status = hasty.status().await.unwrap().unwrap();
        assert_eq!((status.status, status.consecutive_failures), (Standing::Error, 1));
        assert!(status.errors[0].error.message().contains("timeout"), "{status:?}");
    }
}
