//! Inspection: the view, `explain`, listings, the context of code, lifecycle events, and calls by name.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use drystone::{
    Batch, Context, Error, Failure, Primitives, Services, d, primitive,
    runtime::kernel::Wait,
    testing::{Latch, Log, Setup, World},
};
use drystone_tests::typed::{both, names};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Default, Services)]
struct Fakes {
    log: Log,
    latch: Latch,
}

/// Reports everything in the context of a call.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Spy {
    reports: u32,
}

#[primitive(object, max_attempts = 3, retry = "1s")]
impl Spy {
    async fn report(&mut self, log: &Log, cx: &Context) -> u64 {
        self.reports += 1;
        log.say(cx.work_id());
        cx.emit("spy.reported", &json!({ "reports": self.reports }));
        cx.fencing_token()
    }
    async fn look(&self, log: &Log, cx: &Context) -> (String, String, i64, u32) {
        log.say(cx.work_id());
        (cx.key_text(), cx.definition().to_owned(), cx.now().as_millis(), cx.attempt())
    }
    async fn hide(&mut self, latch: &Latch) {
        latch.clone().wait().await;
    }
    async fn sleep(&mut self, cx: &Context) {
        cx.alarm_in(d!("1h"));
    }
    async fn chatter(&mut self, times: u32, cx: &Context) {
        (0..times).for_each(|_| cx.emit("spy.chatters", &()));
    }
    #[alarm]
    async fn wake(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("{} {}", cx.attempt(), cx.work_id()));
        if cx.attempt() < 3 { Err("not yet".into()) } else { Ok(()) }
    }
}

/// Logs the tick count and the work id of each tick.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Metronome;

#[primitive(continuous, every = "1s")]
impl Metronome {
    #[tick]
    async fn tick(&mut self, log: &Log, cx: &Context) -> Result<(), Failure> {
        log.say(format!("{} {}", cx.run_count(), cx.work_id()));
        Ok(())
    }
}

/// Holds its items.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sack;

#[primitive(buffer, max_items = 100)]
impl Sack {
    #[flush]
    async fn empty(&mut self, _: Batch<u32>, latch: &Latch) -> Result<(), Failure> {
        latch.clone().wait().await;
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    spy: Spy,
    metronome: Metronome,
    sack: Sack,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
}

/// E14
#[tokio::test]
async fn code_is_told_key_definition_time_and_attempt() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let spy = world.client().spy("kim");
        spy.report().await.unwrap();
        world.advance(d!("5s")).await;
        let told = spy.look().await.unwrap();
        assert_eq!(told, ("kim".to_owned(), "spy".to_owned(), world.now().as_millis(), 1));
    }
}

/// E14
#[tokio::test]
async fn no_two_pieces_of_work_have_one_id() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        // Two unbound keys, two calls of one action, two reads, and a second entity of one key.
        for key in ["a", "b", "a"] {
            world.client().spy(key).report().await.unwrap();
        }
        tokio::join!(world.client().spy("a").look(), world.client().spy("a").look()).0.unwrap();
        world.restart().await;
        world.client().spy("a").report().await.unwrap();
        world.client().spy("a").destroy().await.unwrap();
        world.client().spy("a").report().await.unwrap();
        let mut ids = fakes.log.take();
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!((ids.len(), count), (7, 7), "{ids:?}");
    }
}

/// E14
#[tokio::test]
async fn the_id_of_a_hook_is_the_same_over_retries_and_restarts() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().spy("a").sleep().await.unwrap();
        world.advance(d!("1h")).await;
        world.restart().await;
        world.advance(d!("1h")).await;
        let said = fakes.log.take();
        let ids: Vec<_> = said.iter().map(|line| line.split_once(' ').unwrap()).collect();
        assert_eq!(ids.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), ["1", "2", "3"]);
        assert!(ids.iter().all(|(_, id)| *id == ids[0].1), "{said:?}");
        world.client().spy("a").sleep().await.unwrap();
        world.advance(d!("2h")).await;
        let next = fakes.log.take();
        assert!(!next.iter().any(|line| line.ends_with(ids[0].1)), "{next:?}");
    }
}

/// E14
#[tokio::test]
async fn a_fencing_token_grows_with_every_commit_and_every_owner() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let mut last = 0;
        for round in 0..6 {
            if round % 2 == 0 {
                world.restart().await;
            }
            let token = world.client().spy("a").report().await.unwrap();
            assert!(token > last, "{round}: {token} after {last}");
            last = token;
        }
    }
}

/// E14
#[tokio::test]
async fn a_tick_is_told_how_many_succeeded_before() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        world.client().metronome("m").start_with(Metronome).await.unwrap();
        world.advance(d!("3s")).await;
        let said = fakes.log.take();
        let counts: Vec<_> = said.iter().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(counts, ["0", "1", "2"]);
    }
}

/// E14
#[tokio::test]
async fn explain_says_what_a_key_waits_for() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (spy, sack) = (world.client().spy("a"), world.client().sack("s"));
        let unbound = spy.explain().await.unwrap();
        assert_eq!((unbound.status.clone(), unbound.waits.as_slice()), (None, &[Wait::Rest][..]));
        spy.sleep().await.unwrap();
        let alarm = world.now().after(d!("1h"));
        assert_eq!(spy.explain().await.unwrap().waits, [Wait::Alarm(alarm.into())]);
        assert!(spy.explain().await.unwrap().to_string().contains("its alarm rings at 2023-"));
        sack.add(1).await.unwrap();
        let (hidden, waiting, flushed, ()) = tokio::join!(spy.hide(), spy.report(), sack.flush(), async {
            world.settle().await;
            let waits = spy.explain().await.unwrap().waits;
            assert!(matches!(&waits[0], Wait::Work(work) if work.as_str().contains("hide")), "{waits:?}");
            assert!(waits.contains(&Wait::Calls(1)), "{waits:?}");
            let waits = world.explain("sack", "s").await.unwrap().waits;
            assert!(waits.contains(&Wait::Callers(1)), "{waits:?}");
            fakes.latch.open();
        });
        assert!(hidden.is_ok() && waiting.is_ok() && flushed.is_ok());
        assert_eq!(sack.explain().await.unwrap().waits, [Wait::Rest]);
    }
}

/// E14, R6: A listing finds it.
#[tokio::test]
async fn the_view_has_the_names_of_the_law() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().spy("a").sleep().await.unwrap();
        world.client().metronome("m").start_with(Metronome).await.unwrap();
        let view = serde_json::to_value(world.view("spy", "a").await.unwrap().unwrap()).unwrap();
        for name in ["primitive:type", "primitive:name", "primitive:state", "primitive:config", "primitive:meta"] {
            assert!(view.get(name).is_some(), "{name}");
        }
        assert_eq!(view["primitive:meta"]["alarm"], json!(world.now().after(d!("1h"))));
        let found = world.entities().of::<Spy>().await.unwrap().entities;
        assert_eq!((found.len(), serde_json::to_value(&found[0]).unwrap()), (1, view));
        assert_eq!(world.entities().status("running").await.unwrap().entities[0].key, "m");
        assert_eq!(world.entities().due_before(world.now().after(d!("1m"))).await.unwrap().entities.len(), 1);
    }
}

/// E9: The error for a wrong name lists the known names.
#[tokio::test]
async fn a_call_by_name_is_the_typed_call() {
    for setup in both() {
        let (world, _) = started(setup).await;
        assert_eq!(world.call("spy", "a", "sleep", Value::Null).await.unwrap(), Value::Null);
        assert_eq!(world.call("spy", "a", "look", json!([])).await.unwrap()[0], "a");
        assert_eq!(world.call("sack", "s", "add", json!([7])).await.unwrap()["buffered"], 1);
        let before = world.counts();
        let refused = world.call("spi", "b", "look", Value::Null).await.unwrap_err();
        assert_eq!(refused.to_string(), "no primitive named `spi`; this app has: metronome, sack, spy");
        let refused = world.call("metronome", "b", "tik", Value::Null).await.unwrap_err();
        let Error::UnknownVerb { known, .. } = &refused else { panic!("{refused:?}") };
        assert!(["start", "stop", "trigger", "status", "destroy"].iter().all(|verb| known.contains(&(*verb).into())));
        assert!(matches!(
            world.call("drystone:dead_letters", "b", "count", json!([])).await,
            Err(Error::UnknownDefinition { .. })
        ));
        assert!(world.entities().primitive("spi").await.is_err());
        assert_eq!((world.counts().since(before).applied, world.view("spy", "b").await.unwrap()), (0, None));
    }
}

/// E15
#[tokio::test]
async fn events_are_reported_after_their_commit_only() {
    for setup in both() {
        let (world, _) = started(setup).await;
        world.client().spy("a").report().await.unwrap();
        let told = world.events();
        assert_eq!((names(&told), &told[0].key.key[..]), (vec!["spy.reported"], &b"a"[..]));
        world.crash_at_commit(1, drystone::testing::Moment::Before);
        world.client().spy("a").report().await.unwrap_err();
        world.restart().await;
        assert_eq!(world.events().len(), 0);
    }
}

/// E15
#[tokio::test]
async fn a_slow_listener_loses_the_oldest_counted_and_slows_nobody() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let (mut slow, mut other) = (world.kernel().listen(), world.kernel().listen());
        for _ in 0..3 {
            world.client().spy("a").chatter(1_000).await.unwrap();
        }
        world.client().spy("a").report().await.unwrap();
        for listener in [&mut slow, &mut other] {
            let mut heard = 0;
            while listener.next().await.unwrap().lifecycle.name.as_str() != "spy.reported" {
                heard += 1;
            }
            assert_eq!(heard + listener.missed(), 3_000);
            assert!(listener.missed() > 0);
        }
        assert_eq!(world.events().len(), 3_001);
    }
}
