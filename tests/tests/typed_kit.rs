//! A test that passes in a world behaves the same on a real clock (X1).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::collections::BTreeSet;

use drystone::{
    Batch, CallError, Context, Error, Failure, Never, Primitives, Runtime, Services, d, primitive,
    testing::{Fault, Log, Setup, World},
};
use drystone_tests::typed::{both, fault};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
}

/// Rings ten milliseconds after the call.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bell {
    rung: u32,
}

#[primitive(object)]
impl Bell {
    async fn set(&mut self, cx: &Context) {
        cx.alarm_in(d!("10ms"));
    }
    async fn rung(&self) -> u32 {
        self.rung
    }
    #[alarm]
    async fn ring(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        self.rung += 1;
        log.say(format!("{} rings", cx.key_text()));
        cx.emit("done", &());
        Ok(())
    }
}

/// Ticks at once. The first attempt fails.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tick(u32);

#[primitive(continuous, every = "1h", first = "now", max_attempts = 2, retry = "10ms")]
impl Tick {
    #[tick]
    async fn tick(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("ticks {}", cx.attempt()));
        self.0 += 1;
        cx.emit("done", &());
        if cx.attempt() == 1 { Err("once more".into()) } else { Ok(()) }
    }
}

/// Collects pairs.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pair;

#[primitive(buffer, max_items = 2)]
impl Pair {
    #[flush]
    async fn flush(&mut self, batch: Batch<u32>, log: &Log, cx: &Context) -> Result<(), Never> {
        log.say(format!("{:?} {:?}", batch.reason, batch.items));
        cx.emit("done", &());
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    bell: Bell,
    tick: Tick,
    pair: Pair,
}

async fn started(setup: Setup<()>) -> (World<App>, Log) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes.log)
}

/// The answers to callers in a scenario that needs no time to pass.
async fn told(client: <App as Primitives>::Client) -> Vec<String> {
    let mut told = Vec::new();
    told.push(format!("{:?}", client.bell("a").rung().await.map_err(|error| code(&error))));
    told.push(format!("{:?}", client.bell("a").set().await.is_ok()));
    told.push(format!("{:?}", client.tick("a").stop().await.map_err(|error| code(&error))));
    told.push(format!("{:?}", client.tick("t").start().await.unwrap()));
    told.push(format!("{:?}", client.tick("t").start().await.unwrap()));
    for item in 1..=3 {
        told.push(format!("{:?}", client.pair("p").add(item).await.unwrap().buffered));
    }
    told.push(format!("{:?}", client.pair("p").flush().await.unwrap()));
    told.push(format!("{:?}", client.pair("p").flush().await.unwrap()));
    told
}

fn code<E>(error: &CallError<E>) -> &'static str {
    error.fault().map_or("failed", Error::code)
}

/// X1
#[tokio::test]
async fn a_story_in_a_world_is_the_same_on_a_real_clock() {
    let folder = tempfile::tempdir().unwrap();
    for (setup, builder) in both().zip([Runtime::memory(), Runtime::sqlite(folder.path().join("app.db"))]) {
        let (world, log) = started(setup).await;
        let in_the_world = told(world.client()).await;
        world.advance(d!("1s")).await;
        let is_done = |event: &drystone::runtime::kernel::Event| event.lifecycle.name.as_str() == "done";
        let done = world.events().iter().filter(|event| is_done(event)).count();
        let fakes = Fakes::default();
        let runtime = builder.services(fakes.clone()).start::<App>().await.unwrap();
        let mut events = runtime.events();
        assert_eq!(told(runtime.client()).await, in_the_world);
        // Only the bell and the second attempt are left; both come by themselves.
        for _ in 0..done {
            while events.next().await.unwrap().name != "done" {}
        }
        let sorted = |log: &Log| BTreeSet::from_iter(log.take());
        assert_eq!(sorted(&fakes.log), sorted(&log));
        runtime.shutdown(d!("5s")).await.unwrap();
    }
}

/// X1
#[tokio::test]
async fn time_stands_until_it_is_moved_and_years_pass_at_once() {
    for setup in both() {
        let (world, log) = started(setup).await;
        let start = world.now();
        world.client().bell("a").set().await.unwrap();
        world.settle().await;
        assert_eq!((world.now(), log.take()), (start, vec![]));
        world.advance(d!("365d")).await;
        assert_eq!((world.now().since(start), log.take()), (d!("365d"), vec!["a rings".to_owned()]));
    }
}

/// X1, R4: Everything continues when it is back.
#[tokio::test]
async fn a_store_that_is_down_or_full_is_a_typed_error() {
    for setup in both() {
        let (world, log) = started(setup).await;
        world.client().bell("a").set().await.unwrap();
        world.store_fails(Fault::Down);
        let (down, ()) = tokio::join!(world.client().bell("b").set().deadline(d!("5s")), world.advance(d!("6s")));
        let down = fault(down);
        assert!(down.is_retryable() && matches!(down, Error::Store(_) | Error::Deadline { .. }), "{down:?}");
        world.store_fails(Fault::Full);
        let (full, ()) = tokio::join!(world.client().bell("c").set().deadline(d!("5s")), world.advance(d!("6s")));
        assert!(matches!(fault(full), Error::Store(_) | Error::Deadline { .. }));
        world.store_works();
        world.advance(d!("1m")).await;
        assert!(log.take().contains(&"a rings".to_owned()));
        world.client().bell("c").set().await.unwrap();
        world.advance(d!("1s")).await;
        assert!(world.client().bell("c").rung().await.unwrap() >= 1);
    }
}

/// X1, R2
#[tokio::test]
async fn a_shutdown_in_order_is_no_crash() {
    for setup in both() {
        let (world, log) = started(setup).await;
        world.client().bell("a").set().await.unwrap();
        world.shutdown(d!("1s")).await.unwrap();
        assert!(world.is_dead() && world.client().bell("a").set().await.is_err());
        log.take();
        assert_eq!(world.restart().await.unclean, 0);
        assert_eq!(world.view("bell", "a").await.unwrap().unwrap().meta.crashes, 0);
    }
}

/// X1
#[tokio::test]
async fn a_world_over_a_file_leaves_it_to_the_app() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    {
        let (world, _) = started(World::sqlite_at(&path)).await;
        world.client().bell("a").set().await.unwrap();
        world.advance(d!("1s")).await;
        assert_eq!(world.client().bell("a").rung().await.unwrap(), 1);
    }
    let runtime = Runtime::sqlite(&path).services(Fakes::default()).start::<App>().await.unwrap();
    assert_eq!(runtime.client().bell("a").rung().await.unwrap(), 1);
    runtime.shutdown(d!("5s")).await.unwrap();
}
