//! Entities: how a key is bound, which calls it takes, and what is left of a call that fails.

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::sync::atomic::{AtomicU32, Ordering};

use drystone::{
    CallError, Context, Error, Failure, Primitives, Services, Started, d, primitive,
    testing::{Latch, Log, Moment, Setup, World},
};
use drystone_tests::typed::{both, fault, names};
use serde::{Deserialize, Serialize};

/// A primitive with a default, so any write binds it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    count: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Refusal {
    TooMuch { left: u32 },
}

#[primitive(object)]
impl Tally {
    async fn add(&mut self, by: u32, cx: &Context) -> Result<u32, Refusal> {
        let left = 10 - self.count.min(10);
        self.count += by;
        cx.alarm_in(d!("1h"));
        cx.emit("tally.added", &by);
        if by > left {
            return Err(Refusal::TooMuch { left });
        }
        Ok(self.count)
    }

    async fn read(&self) -> u32 {
        self.count
    }

    async fn add_slowly(&mut self, by: u32, latch: &Latch, log: &Log) -> u32 {
        log.say(format!("{by} begins"));
        latch.clone().wait().await;
        self.count += by;
        log.say(format!("{by} ends"));
        self.count
    }

    async fn read_slowly(&self, latch: &Latch, log: &Log) -> u32 {
        log.say(format!("reads {}", self.count));
        latch.clone().wait().await;
        self.count
    }

    /// An action that takes only its input and waits.
    async fn add_later(&mut self, by: u32) -> u32 {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        let count = self.count;
        self.count = 1_000;
        tokio::task::yield_now().await;
        self.count = count + by;
        self.count
    }

    /// An action that takes only its input, waits and fails.
    async fn fail_later(&mut self) -> Result<(), Refusal> {
        self.count = 1_000;
        tokio::task::yield_now().await;
        Err(Refusal::TooMuch { left: 0 })
    }

    async fn panics(&mut self) -> u32 {
        self.count = 99;
        panic!("as asked");
    }

    #[alarm]
    async fn rings(&mut self, log: &Log) -> Result<(), Failure> {
        log.say("rings");
        Ok(())
    }
}

/// Is bound by an `#[init]`, which may fail.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Shelf {
    boxes: u32,
}

#[primitive(object)]
impl Shelf {
    #[init]
    async fn measure(cx: &Context) -> Result<Self, Failure> {
        if cx.key() == b"crooked" {
            return Err("the wall is not straight".into());
        }
        Ok(Self { boxes: 100 })
    }

    async fn take(&mut self, count: u32) -> Result<u32, Refusal> {
        self.boxes = self.boxes.checked_sub(count).ok_or(Refusal::TooMuch { left: self.boxes })?;
        Ok(self.boxes)
    }
}

/// Is bound only by `start_with`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Account {
    owner: String,
}

#[primitive(object)]
impl Account {
    async fn rename(&mut self, owner: String) {
        self.owner = owner;
    }
    async fn owner(&self) -> String {
        self.owner.clone()
    }
}

/// Is bound by constructors.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Subscription {
    plan: String,
}

#[primitive(object)]
impl Subscription {
    #[create]
    async fn subscribe(plan: String, cx: &Context) -> Result<Self, Refusal> {
        cx.alarm_in("30d");
        cx.emit("subscription.begun", &plan);
        if plan == "gold" { Err(Refusal::TooMuch { left: 0 }) } else { Ok(Self { plan }) }
    }

    #[create]
    async fn invite(plan: String, latch: &Latch, log: &Log, cx: &Context) -> Self {
        log.say(format!("invites to {plan}"));
        cx.alarm_in("1d");
        latch.clone().wait().await;
        Self { plan }
    }

    #[alarm]
    async fn renew(&mut self, log: &Log) -> Result<(), Failure> {
        log.say(format!("renews {}", self.plan));
        Ok(())
    }

    #[destroy]
    async fn end(&self, latch: &Latch) -> Result<(), Failure> {
        latch.clone().wait().await;
        Ok(())
    }
}

/// A continuous primitive with a constructor. The kind decides what the constructor does to an existing
/// entity.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Beat {
    tempo: u32,
}

#[primitive(continuous, every = "1h")]
impl Beat {
    #[create]
    async fn at(tempo: u32) -> Self {
        Self { tempo }
    }

    #[tick]
    async fn tick(&self, log: &Log) -> Result<(), Failure> {
        log.say(format!("beats at {}", self.tempo));
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    tally: Tally,
    shelf: Shelf,
    account: Account,
    subscription: Subscription,
    beat: Beat,
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

/// The number of executions of `add_later`.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// E3, E5: code that waits runs once, and sees the state as it was before the call.
#[tokio::test]
async fn an_action_that_takes_nothing_but_its_input_may_wait() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let tally = world.client().tally("t");
        assert_eq!(tally.add(1).await.unwrap(), 1);
        assert_eq!(tally.add_later(1).await.unwrap(), 2);
        let failed = tally.fail_later().await;
        assert!(matches!(failed, Err(CallError::Failed(Refusal::TooMuch { left: 0 }))), "{failed:?}");
        assert_eq!(tally.read().await.unwrap(), 2);
        let (one, two, three) = tokio::join!(tally.add_later(1), tally.add_later(2), tally.add_later(3));
        assert_eq!((one.unwrap(), two.unwrap(), three.unwrap()), (3, 5, 8));
    }
    assert_eq!(BEGUN.load(Ordering::Relaxed), 8, "four calls in each of two worlds");
}

/// E1
#[tokio::test]
async fn a_key_is_bound_by_start_by_init_or_by_a_default_in_one_commit_with_the_calls_own_effect() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let client = world.client();
        for (key, kind, name) in [("t", "object", "tally"), ("s", "object", "shelf"), ("a", "object", "account")] {
            let before = world.counts();
            match name {
                "tally" => assert_eq!(client.tally(key).add(2).await.unwrap(), 2),
                "shelf" => assert_eq!(client.shelf(key).take(1).await.unwrap(), 99),
                _ => drop(client.account(key).start_with(Account { owner: "ada".into() }).await.unwrap()),
            }
            assert_eq!(world.counts().since(before).applied, 1, "{name}");
            let view = world.view(name, key).await.unwrap().unwrap();
            assert_eq!((view.key.as_str(), view.kind.as_str(), view.name.as_str()), (key, kind, name));
            assert!(view.config.is_object() && view.state.is_object(), "{view:?}");
            assert_eq!((view.meta.created_at, view.meta.parked), (world.now(), None));
        }
        assert_eq!(world.view("shelf", "s").await.unwrap().unwrap().state["boxes"], 99);
    }
}

/// E1
#[tokio::test]
async fn a_call_that_fails_binds_nothing() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let client = world.client();
        assert!(matches!(client.tally("a").add(11).await, Err(CallError::Failed(Refusal::TooMuch { left: 10 }))));
        assert!(matches!(client.shelf("b").take(101).await, Err(CallError::Failed(Refusal::TooMuch { left: 100 }))));
        let refused = fault(client.shelf("crooked").take(1).await);
        assert!(refused.to_string().contains("the wall is not straight"), "{refused}");
        assert!(matches!(fault(client.tally("d").panics().await), Error::Panicked { .. }));
        for (name, key) in [("tally", "a"), ("shelf", "b"), ("shelf", "crooked"), ("tally", "d")] {
            assert_eq!(world.view(name, key).await.unwrap(), None, "{key}");
        }
        assert_eq!(world.counts().applied, 0);
    }
}

/// E1
#[tokio::test]
async fn a_constructor_binds_with_its_alarm_and_its_events_in_one_commit() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        fakes.latch.open();
        for (key, is_pure, after) in [("a", true, d!("30d")), ("b", false, d!("1d"))] {
            let (anna, before) = (world.client().subscription(key), world.counts());
            let call = async |plan: String| match is_pure {
                true => anna.subscribe(plan).idempotency_key("once").await.unwrap(),
                false => anna.invite(plan).idempotency_key("once").await.unwrap(),
            };
            assert_eq!(call("basic".into()).await, Started::Started);
            assert_eq!(world.counts().since(before).applied, 1, "{key}");
            assert_eq!(anna.state().await.unwrap().unwrap().plan, "basic");
            assert_eq!(anna.status().await.unwrap().unwrap().alarm, Some(world.now().after(after)));
            // With the same idempotency key it is a repeat of the same call.
            assert_eq!(call("basic".into()).await, Started::Started);
        }
        assert_eq!(
            (names(&world.events()), fakes.log.take()),
            (vec!["subscription.begun"], vec!["invites to basic".into()])
        );
        world.advance(d!("30d")).await;
        assert_eq!(fakes.log.take(), ["renews basic", "renews basic"]);
    }
}

/// E1
#[tokio::test]
async fn a_constructor_that_fails_or_dies_before_its_commit_binds_nothing() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        fakes.latch.open();
        let refused = world.client().subscription("a").subscribe("gold".into()).await;
        assert!(matches!(refused, Err(CallError::Failed(Refusal::TooMuch { left: 0 }))), "{refused:?}");
        assert_eq!(
            (world.view("subscription", "a").await.unwrap(), world.counts().applied, world.events().len()),
            (None, 0, 0)
        );
        world.crash_at_commit(1, Moment::Before);
        assert!(world.client().subscription("a").invite("basic".into()).await.is_err());
        assert_eq!((world.is_dead(), fakes.log.take()), (true, vec!["invites to basic".to_owned()]));
        world.restart().await;
        assert_eq!(world.view("subscription", "a").await.unwrap(), None);
        assert_eq!(world.client().subscription("a").subscribe("basic".into()).await.unwrap(), Started::Started);
    }
}

/// E1, C2
#[tokio::test]
async fn a_constructor_does_not_run_on_a_bound_key_and_answers_as_start_with_does() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (anna, beat) = (world.client().subscription("a"), world.client().beat("b"));
        anna.subscribe("basic".into()).await.unwrap();
        let (before, alarm) =
            (world.view("subscription", "a").await.unwrap(), anna.status().await.unwrap().unwrap().alarm);
        let counts = world.counts();
        assert_eq!(anna.subscribe("gold".into()).await.unwrap(), Started::AlreadyRunning);
        assert_eq!(anna.invite("plus".into()).await.unwrap(), Started::AlreadyRunning);
        assert_eq!((world.view("subscription", "a").await.unwrap(), world.counts().since(counts).applied), (before, 0));
        assert_eq!((anna.status().await.unwrap().unwrap().alarm, fakes.log.take()), (alarm, vec![]));
        assert_eq!(beat.at(60).await.unwrap(), Started::Started);
        beat.stop().await.unwrap();
        let kept = fault(beat.at(90).await);
        assert!(
            matches!(&kept, Error::KeepsState { verb, status, .. } if verb == "at" && status == "stopped"),
            "{kept}"
        );
        assert!(beat.resume().await.unwrap());
        world.advance(d!("1h")).await;
        assert_eq!(fakes.log.take(), ["beats at 60"]);
        // Until the `#[destroy]` hook has run, the key is neither bound nor free.
        anna.destroy().await.unwrap();
        assert!(matches!(fault(anna.invite("plus".into()).await), Error::Destroyed { .. }));
        fakes.latch.open();
        world.settle().await;
        assert_eq!(anna.invite("plus".into()).await.unwrap(), Started::Started);
    }
}

/// E1
#[tokio::test]
async fn of_two_constructors_at_once_the_first_to_commit_binds() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let anna = world.client().subscription("a");
        let (slow, quick, ()) = tokio::join!(anna.invite("slow".into()), anna.subscribe("quick".into()), async {
            world.settle().await;
            assert_eq!(fakes.log.take(), ["invites to slow"]);
            fakes.latch.open();
        });
        assert_eq!((slow.unwrap(), quick.unwrap()), (Started::AlreadyRunning, Started::Started));
        assert_eq!(anna.state().await.unwrap().unwrap().plan, "quick");
        world.advance(d!("29d")).await;
        assert_eq!(fakes.log.take(), Vec::<String>::new(), "the alarm of the slow one was never set");
    }
}

/// E1
#[tokio::test]
async fn reads_and_calls_that_cannot_make_a_state_bind_nothing() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let client = world.client();
        let refused = fault(client.account("a").rename("ada".into()).await);
        assert!(matches!(&refused, Error::NotBound { key } if &key.key[..] == b"a"), "{refused:?}");
        assert!(matches!(fault(client.tally("a").read().await), Error::NotBound { .. }));
        assert!(matches!(fault(client.tally("a").replace(Tally::default()).await), Error::NotBound { .. }));
        assert_eq!(client.tally("a").state().await.unwrap(), None);
        assert_eq!(client.tally("a").status().await.unwrap(), None);
        assert!(!client.tally("a").destroy().await.unwrap());
        assert_eq!((world.view("tally", "a").await.unwrap(), world.counts().applied), (None, 0));
    }
}

/// E3
#[tokio::test]
async fn writing_code_of_one_entity_runs_one_at_a_time_in_order_of_arrival() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        let (one, two, three, ()) =
            tokio::join!(tally.add_slowly(1), tally.add_slowly(2), tally.add_slowly(3), async {
                world.settle().await;
                assert_eq!(fakes.log.take(), ["1 begins"]);
                fakes.latch.open();
            });
        assert_eq!((one.unwrap(), two.unwrap(), three.unwrap()), (1, 3, 6));
        assert_eq!(fakes.log.take(), ["1 ends", "2 begins", "2 ends", "3 begins", "3 ends"]);
    }
}

/// E3
#[tokio::test]
async fn reading_code_runs_together_and_sees_what_is_committed() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let (tally, other) = (world.client().tally("a"), world.client().tally("b"));
        tally.add(5).await.unwrap();
        let (one, two, written, ()) =
            tokio::join!(tally.read_slowly(), tally.read_slowly(), tally.add_slowly(1), async {
                world.settle().await;
                let said = fakes.log.take();
                assert_eq!(said.iter().filter(|line| *line == "reads 5").count(), 2, "{said:?}");
                // The entity answers while both kinds of code run, and other entities are not affected.
                assert_eq!(tally.state().await.unwrap(), Some(Tally { count: 5 }));
                assert!(tally.status().await.unwrap().is_some());
                assert_eq!(other.add(1).await.unwrap(), 1);
                fakes.latch.open();
            });
        assert_eq!((one.unwrap(), two.unwrap(), written.unwrap()), (5, 5, 6));
    }
}

/// E5
#[tokio::test]
async fn code_that_fails_leaves_state_alarm_and_events_as_they_were() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let (before, alarm) = (world.view("tally", "a").await.unwrap(), tally.status().await.unwrap().unwrap().alarm);
        assert_eq!(world.events().len(), 1);
        world.advance(d!("30m")).await;
        let refused = tally.add(7).await;
        assert!(matches!(refused, Err(CallError::Failed(Refusal::TooMuch { left: 6 }))), "{refused:?}");
        assert_eq!((world.view("tally", "a").await.unwrap(), world.events().len()), (before, 0));
        assert_eq!(tally.status().await.unwrap().unwrap().alarm, alarm);
        world.advance(d!("30m")).await;
        assert_eq!(fakes.log.take(), ["rings"]);
    }
}

/// E6
#[tokio::test]
async fn a_panic_is_a_failure_of_its_call_alone() {
    for setup in both() {
        let (world, _) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let panicked = fault(tally.panics().await);
        assert!(matches!(&panicked, Error::Panicked { message, .. } if message == "as asked"), "{panicked:?}");
        assert!(!panicked.is_retryable());
        assert_eq!(tally.read().await.unwrap(), 4);
        assert_eq!(world.client().tally("b").add(1).await.unwrap(), 1);
        world.restart().await;
        assert_eq!(world.client().tally("a").add(1).await.unwrap(), 5);
    }
}

/// E6, E8
#[tokio::test]
async fn code_that_hangs_holds_up_only_writers_of_its_own_entity_and_ends_with_it() {
    for setup in both() {
        let (world, fakes) = started(setup).await;
        let tally = world.client().tally("a");
        tally.add(4).await.unwrap();
        let (late, behind, ()) =
            tokio::join!(tally.add_slowly(1).deadline(d!("5s")), tally.add(1).deadline(d!("1m")), async {
                world.advance(d!("5s")).await;
                assert_eq!((tally.read().await.unwrap(), fakes.log.take()), (4, vec!["1 begins".to_owned()]));
                assert_eq!(world.client().tally("b").add(1).await.unwrap(), 1);
                assert!(tally.destroy().await.unwrap());
            });
        assert!(matches!(fault(late), Error::Deadline { .. }));
        assert!(matches!(fault(behind), Error::Destroyed { .. }));
        fakes.latch.open();
        world.settle().await;
        assert_eq!((fakes.log.take(), tally.state().await.unwrap()), (vec![], None));
        assert_eq!(tally.add(1).await.unwrap(), 1);
    }
}
