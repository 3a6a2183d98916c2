//! The end of an entity, and the replies that are remembered after it.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Context, Error, Failure, Primitives, Services, d, primitive,
    testing::{Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

/// A room with a `#[destroy]` hook. The first attempts of the hook may fail.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Room {
    guests: u32,
    bad_sweeps: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Full;

#[primitive(object)]
impl Room {
    async fn enter(&mut self, log: &Log) -> Result<u32, Full> {
        log.say("enters");
        if self.guests == 2 {
            return Err(Full);
        }
        self.guests += 1;
        Ok(self.guests)
    }

    async fn spoil(&mut self, sweeps: u32) {
        self.bad_sweeps = sweeps;
    }

    async fn stay(&mut self, log: &Log, latch: &Latch, cx: &Context) {
        cx.alarm_in(d!("1h"));
        latch.clone().wait().await;
        log.say("stayed");
    }

    async fn wake_in_an_hour(&mut self, cx: &Context) {
        cx.alarm_in(d!("1h"));
    }

    async fn trips(&mut self, latch: &Latch) -> u32 {
        latch.clone().wait().await;
        panic!("tripped");
    }

    #[alarm]
    async fn wake(&mut self, log: &Log) -> Result<(), Failure> {
        log.say("wakes");
        Ok(())
    }

    #[destroy]
    async fn sweep(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("sweep {} of {}", cx.attempt(), cx.key_text()));
        if cx.attempt() <= self.bad_sweeps {
            return Err("the broom broke".into());
        }
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    room: Room,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// E8
#[tokio::test]
async fn destroy_runs_the_hook_drops_running_code_and_frees_the_key() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.wake_in_an_hour().await.unwrap();
        let (stayed, waiting, ()) = tokio::join!(room.stay(), room.enter(), async {
            assert!(room.destroy().await.unwrap());
        });
        assert!(matches!(fault(stayed), Error::Destroyed { .. }));
        assert!(matches!(fault(waiting), Error::Destroyed { .. }));
        fakes.latch.open();
        world.advance(d!("2h")).await;
        assert_eq!(fakes.log.take(), ["sweep 1 of a"]);
        assert_eq!((room.state().await.unwrap(), world.view("room", "a").await.unwrap()), (None, None));
        assert_eq!(room.enter().await.unwrap(), 1);
    }
}

/// E8: Calls meanwhile are refused.
#[tokio::test]
async fn a_destroy_hook_that_fails_is_retried() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.spoil(2).await.unwrap();
        assert!(room.destroy().await.unwrap());
        assert!(matches!(fault(room.enter().await), Error::Destroyed { .. }));
        assert_eq!((room.state().await.unwrap(), room.status().await.unwrap()), (None, None));
        world.restart().await;
        assert!(matches!(fault(world.client().room("a").enter().await), Error::Destroyed { .. }));
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), ["sweep 1 of a", "sweep 2 of a", "sweep 3 of a"]);
        assert_eq!(world.client().room("a").enter().await.unwrap(), 1);
    }
}

/// E8: It is given up, and visible until then.
#[tokio::test]
async fn a_destroy_hook_that_never_succeeds_waits_for_force() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.spoil(1_000).await.unwrap();
        room.destroy().await.unwrap();
        world.advance(d!("365d")).await;
        let given_up = world.view("room", "a").await.unwrap().unwrap();
        assert!(
            given_up.meta.is_failing && given_up.meta.record.to_string().contains("the broom broke"),
            "{given_up:?}"
        );
        assert_eq!(world.entities().failing().await.unwrap().entities.len(), 1);
        assert!(matches!(fault(room.enter().await), Error::Destroyed { .. }));
        let attempts = fakes.log.take().len();
        // Another `destroy` tries the hook again.
        assert!(room.destroy().await.unwrap());
        world.advance(d!("365d")).await;
        assert_eq!(fakes.log.take().len(), attempts);
        assert!(room.force_destroy().await.unwrap());
        assert_eq!((world.view("room", "a").await.unwrap(), fakes.log.take()), (None, vec![]));
        assert_eq!(room.enter().await.unwrap(), 1);
    }
}

/// E8: Whatever dies.
#[tokio::test]
async fn destroy_is_durable_and_its_hook_runs_at_least_once() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.wake_in_an_hour().await.unwrap();
        world.crash_at_commit(2, drystone::testing::Moment::Before);
        assert!(room.destroy().await.unwrap());
        assert!(world.is_dead());
        world.restart().await;
        assert_eq!(fakes.log.take(), ["sweep 1 of a", "sweep 1 of a"]);
        assert_eq!(world.view("room", "a").await.unwrap(), None);
        world.advance(d!("2h")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new());
    }
}

/// E12: It is done once, also after a restart and an error.
#[tokio::test]
async fn a_repeated_destroy_is_answered_as_the_first() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        for _ in 0..2 {
            assert_eq!(room.enter().idempotency_key("ada").await.unwrap(), 1);
        }
        room.enter().await.unwrap();
        for _ in 0..2 {
            assert_eq!(room.enter().idempotency_key("bob").await.unwrap_err().failed(), Some(Full));
        }
        assert_eq!(fakes.log.take().len(), 3);
        world.restart().await;
        let room = world.client().room("a");
        assert_eq!(room.enter().idempotency_key("ada").await.unwrap(), 1);
        assert!(matches!(fault(room.spoil(1).idempotency_key("ada").await), Error::IdempotencyMismatch { .. }));
        assert_eq!((fakes.log.take(), room.state().await.unwrap().unwrap().guests), (vec![], 2));
    }
}

/// E12
#[tokio::test]
async fn a_repeat_waits_for_the_first_and_another_input_is_a_mismatch() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        let (first, repeat, ()) =
            tokio::join!(room.stay().idempotency_key("k"), room.stay().idempotency_key("k"), async {
                world.settle().await;
                fakes.latch.open();
            });
        first.unwrap();
        repeat.unwrap();
        assert_eq!(fakes.log.take(), ["stayed"]);
        room.spoil(1).idempotency_key("s").await.unwrap();
        assert!(matches!(fault(room.spoil(2).idempotency_key("s").await), Error::IdempotencyMismatch { .. }));
        assert_eq!(room.state().await.unwrap().unwrap().bad_sweeps, 1);
    }
}

/// E12
#[tokio::test]
async fn a_panic_and_a_deadline_are_not_remembered() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.enter().await.unwrap();
        let (late, ()) = tokio::join!(room.trips().idempotency_key("k").deadline(d!("1s")), world.advance(d!("1s")));
        assert!(matches!(fault(late), Error::Deadline { .. }));
        fakes.latch.open();
        for _ in 0..2 {
            assert!(matches!(fault(room.trips().idempotency_key("k").await), Error::Panicked { .. }));
        }
    }
}

/// E12
#[tokio::test]
async fn what_is_remembered_outlives_the_entity_and_is_forgotten_after_a_day() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let room = world.client().room("a");
        room.enter().idempotency_key("k").await.unwrap();
        room.force_destroy().await.unwrap();
        world.advance(d!("23h")).await;
        assert_eq!(room.enter().idempotency_key("k").await.unwrap(), 1);
        assert_eq!((room.state().await.unwrap(), fakes.log.take().len()), (None, 1));
        world.advance(d!("2h")).await;
        assert_eq!(room.enter().idempotency_key("k").await.unwrap(), 1);
        assert_eq!((room.state().await.unwrap().unwrap().guests, fakes.log.take().len()), (1, 1));
    }
}
