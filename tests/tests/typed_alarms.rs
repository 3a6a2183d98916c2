//! Alarms of objects, and the time of every kind: an alarm is never early, never lost and never doubled.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, Context, Failure, Primitives, Services, Timestamp, d, primitive,
    testing::{Clock, Log, Setup, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};

#[derive(Clone, Services)]
struct Fakes {
    log: Log,
    clock: Clock,
}

/// Rings when asked to; fails this many times first.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bell {
    rung: u32,
    failures: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct No;

#[primitive(object, max_attempts = 3, retry = "1s..1m")]
impl Bell {
    async fn set(&mut self, seconds: u64, failures: u32, cx: &Context) {
        self.failures = failures;
        cx.alarm_in(std::time::Duration::from_secs(seconds));
    }
    async fn set_at(&mut self, at: Timestamp, cx: &Context) {
        cx.alarm_at(at);
    }
    async fn clear(&mut self, cx: &Context) {
        cx.clear_alarm();
    }
    async fn set_and_fail(&mut self, cx: &Context) -> Result<(), No> {
        cx.alarm_in(d!("1s"));
        Err(No)
    }
    #[alarm]
    async fn ring(&mut self, log: &Log, clock: &Clock, cx: &Context) -> Result<(), Failure> {
        self.rung += 1;
        log.say(format!("{}#{} at {}", cx.key_text(), cx.attempt(), (clock.now().as_millis() % 100_000_000) / 1_000));
        cx.alarm_in(d!("1h"));
        if cx.attempt() <= self.failures {
            return Err("the clapper is stuck".into());
        }
        cx.clear_alarm();
        Ok(())
    }
}

/// Ticks every ten seconds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Clockwork(u32);

#[primitive(continuous, every = "10s")]
impl Clockwork {
    #[tick]
    async fn tick(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        self.0 += 1;
        log.say(format!("{} ticks", cx.key_text()));
        Ok(())
    }
}

/// Collects items for ten seconds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Basket;

#[primitive(buffer, max_wait = "10s")]
impl Basket {
    #[flush]
    async fn empty(&mut self, batch: Batch<u32>, log: &Log) -> Result<(), Failure> {
        log.say(format!("{:?}", batch.items));
        Ok(())
    }
}

/// An object without an `#[alarm]` that sets an alarm.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Mute;

#[primitive(object)]
impl Mute {
    async fn set(&mut self, cx: &Context) {
        soon(cx);
    }
}

/// An object whose alarm never ends.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sleeper;

#[primitive(object, max_attempts = 1, timeout = "30s")]
impl Sleeper {
    async fn set(&mut self, cx: &Context) {
        cx.alarm_in("1s");
    }

    #[alarm]
    async fn sleep(&mut self) -> Result<(), Failure> {
        std::future::pending().await
    }
}

/// Sets the alarm outside of the block, where the macro does not see it.
fn soon(cx: &Context) {
    cx.alarm_in(d!("1s"));
}

#[derive(Primitives)]
struct App {
    bell: Bell,
    clockwork: Clockwork,
    basket: Basket,
    mute: Mute,
    sleeper: Sleeper,
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let fakes = Fakes { log: Log::default(), clock: setup.clock() };
    (setup.services(fakes.clone()).start::<App>().await, fakes.log)
}

/// A1, A2
#[tokio::test]
async fn an_alarm_is_never_early_and_setting_replaces_it() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let bell = world.client().bell("a");
        bell.set(60, 0).await.unwrap();
        bell.set(10, 0).await.unwrap();
        assert_eq!(bell.status().await.unwrap().unwrap().alarm, Some(world.now().after(d!("10s"))));
        world.advance(d!("9999ms")).await;
        assert_eq!(log.take(), Vec::<String>::new());
        world.advance(d!("1ms")).await;
        assert_eq!(log.take(), ["a#1 at 10"]);
        world.advance(d!("1h")).await;
        assert_eq!((log.take(), bell.state().await.unwrap().unwrap().rung), (vec![], 1));
    }
}

/// A3, E5: It is retried before.
#[tokio::test]
async fn a_failing_alarm_is_given_up_visibly_with_its_state_kept() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let bell = world.client().bell("a");
        bell.set(10, 2).await.unwrap();
        world.advance(d!("10s")).await;
        let status = bell.status().await.unwrap().unwrap();
        assert_eq!(
            (status.failures, status.has_failed, status.error.unwrap().message()),
            (1, false, "the clapper is stuck")
        );
        assert_eq!(bell.state().await.unwrap().unwrap().rung, 0);
        world.advance(d!("1h")).await;
        assert_eq!(log.take(), ["a#1 at 10", "a#2 at 11", "a#3 at 13"]);
        assert_eq!((bell.state().await.unwrap().unwrap().rung, bell.status().await.unwrap().unwrap().failures), (1, 0));
        bell.set(10, 9).await.unwrap();
        world.events();
        world.advance(d!("1h")).await;
        assert_eq!(log.take().len(), 3);
        let status = bell.status().await.unwrap().unwrap();
        assert_eq!((status.failures, status.has_failed, status.alarm), (3, true, None));
        assert_eq!((bell.state().await.unwrap().unwrap().rung, names(&world.events())), (1, vec!["object.failed"]));
        let view = world.view("bell", "a").await.unwrap().unwrap();
        assert_eq!((view.meta.status.as_str(), view.meta.is_failing), ("error", true));
        assert_eq!(world.entities().of::<Bell>().failing().await.unwrap().entities.len(), 1);
        bell.set(10, 0).await.unwrap();
        world.advance(d!("10s")).await;
        assert_eq!((log.take().len(), world.view("bell", "a").await.unwrap().unwrap().meta.is_failing), (1, false));
    }
}

/// A3
#[tokio::test]
async fn a_waiting_retry_survives_a_restart_with_its_count() {
    for setup in both() {
        let (world, log) = started(setup).await;
        world.client().bell("a").set(10, 9).await.unwrap();
        world.advance(d!("11s")).await;
        world.restart().await;
        world.advance(d!("1h")).await;
        assert_eq!(log.take(), ["a#1 at 10", "a#2 at 11", "a#3 at 13"]);
    }
}

/// A4
#[tokio::test]
async fn after_downtime_what_is_overdue_happens_once_oldest_first() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let client = world.client();
        client.clockwork("late").start().await.unwrap();
        client.bell("later").set(40, 0).await.unwrap();
        client.bell("first").set(5, 0).await.unwrap();
        client.basket("b").add(7).await.unwrap();
        world.crash().await;
        world.advance(d!("1d")).await;
        assert_eq!(log.take(), Vec::<String>::new());
        let report = world.restart().await;
        let said = log.take();
        assert_eq!((report.unclean, said.len()), (1, 4), "{said:?}");
        let place = |begin: &str| said.iter().position(|line| line.starts_with(begin)).unwrap();
        assert!(place("first#1") < place("late ticks") && place("late ticks") < place("later#1"), "{said:?}");
        assert!(said.contains(&"[7]".to_owned()), "{said:?}");
        let status = world.client().clockwork("late").status().await.unwrap().unwrap();
        assert_eq!((status.run_count, status.skipped), (1, 8_639));
        assert_eq!(status.next_run_at, Some(world.now().after(d!("10s"))));
    }
}

/// A5
#[tokio::test]
async fn deadlines_are_not_extended_by_restarts() {
    for setup in both() {
        let (world, log) = started(setup).await;
        world.client().bell("a").set(10, 0).await.unwrap();
        world.client().basket("b").add(1).await.unwrap();
        world.client().clockwork("c").start().await.unwrap();
        for _ in 0..3 {
            world.advance(d!("3s")).await;
            world.restart().await;
        }
        assert_eq!(log.take(), Vec::<String>::new());
        world.advance(d!("1s")).await;
        let mut said = log.take();
        said.sort();
        assert_eq!(said, ["[1]", "a#1 at 10", "c ticks"]);
    }
}

/// A5
#[tokio::test]
async fn clock_jumps_neither_lose_nor_double_anything_and_time_never_goes_back() {
    for setup in both() {
        let (world, log) = started(setup).await;
        world.client().bell("a").set(60, 0).await.unwrap();
        world.client().clockwork("c").start().await.unwrap();
        let before = world.now();
        world.jump_clock(-10 * 24 * 3_600_000).await;
        assert!(world.now() >= before);
        world.advance(d!("10s")).await;
        assert_eq!(log.take(), ["c ticks"]);
        world.restart().await;
        assert!(world.now() >= before);
        world.advance(d!("50s")).await;
        let said = log.take();
        assert_eq!(said.iter().filter(|line| line.starts_with("a#1")).count(), 1, "{said:?}");
        assert_eq!(said.iter().filter(|line| *line == "c ticks").count(), 5, "{said:?}");
        world.jump_clock((10 * 24 + 1) * 3_600_000).await;
        assert_eq!(log.take(), ["c ticks"]);
        assert_eq!(world.client().bell("a").state().await.unwrap().unwrap().rung, 1);
    }
}

/// A7
#[tokio::test]
async fn an_alarm_that_was_cleared_moved_or_lost_its_entity_does_nothing() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let client = world.client();
        for key in ["cleared", "moved", "destroyed", "failed"] {
            client.bell(key).set(10, 0).await.unwrap();
        }
        client.bell("cleared").clear().await.unwrap();
        client.bell("moved").set(100, 0).await.unwrap();
        client.bell("destroyed").destroy().await.unwrap();
        client.bell("failed").set_and_fail().await.unwrap_err();
        client.clockwork("stopped").start().await.unwrap();
        client.clockwork("stopped").stop().await.unwrap();
        client.basket("emptied").add(1).await.unwrap();
        client.basket("emptied").clear().await.unwrap();
        world.events();
        world.advance(d!("9s")).await;
        let before = world.counts();
        world.advance(d!("90s")).await;
        assert_eq!(log.take(), ["failed#1 at 10"]);
        assert_eq!(world.counts().since(before).entities, 1);
        assert!(world.events().is_empty());
    }
}

/// A2
#[tokio::test]
async fn a_past_time_rings_at_once_and_an_impossible_one_never() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let client = world.client();
        client.bell("past").set_at(Timestamp::from_millis(0)).await.unwrap();
        client.bell("long past").set_at(Timestamp::from_millis(i64::MIN)).await.unwrap();
        world.settle().await;
        assert_eq!(log.take().len(), 2);
        client.bell("never").set_at(Timestamp::from_millis(i64::MAX)).await.unwrap();
        client.bell("centuries").set(300 * 365 * 24 * 3_600, 0).await.unwrap();
        client.bell("forever").set(u64::MAX, 0).await.unwrap();
        world.advance(d!("365d")).await;
        assert_eq!(log.take(), Vec::<String>::new());
        world.restart().await;
        assert_eq!(
            world.client().bell("never").status().await.unwrap().unwrap().alarm,
            Some(Timestamp::from_millis(i64::MAX))
        );
    }
}

/// A7
#[tokio::test]
async fn an_alarm_without_a_hook_is_refused_and_not_lost_quietly() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let mute = world.client().mute("a");
        let refused = mute.set().await.unwrap_err().to_string();
        assert!(refused.contains("write an `#[alarm]`"), "{refused}");
        assert_eq!(mute.state().await.unwrap(), None);
    }
}

/// A3
#[tokio::test]
async fn an_alarm_that_hangs_is_cut_short_and_counts_as_failed() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let sleeper = world.client().sleeper("a");
        sleeper.set().await.unwrap();
        world.advance(d!("1s") + d!("29999ms")).await;
        assert_eq!(sleeper.status().await.unwrap().unwrap().failures, 0);
        world.advance(d!("1ms")).await;
        let status = sleeper.status().await.unwrap().unwrap();
        assert_eq!((status.failures, status.has_failed), (1, true));
        assert!(status.error.unwrap().message().contains("timeout"));
    }
}
