//! How a key is bound (E).

use super::*;

#[derive(Primitives)]
struct App {
    tally: Tally,
    shelf: Shelf,
    account: Account,
    subscription: Subscription,
    beat: Beat,
}

async fn started(setup: Setup<()>) -> (World<App>, Fakes) {
    let fakes = Fakes::default();
    (setup.services(fakes.clone()).start::<App>().await, fakes)
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

/// E1
#[tokio::test]
async fn start_init_or_default_bind_in_the_commit_of_the_call() {
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

/// E1, C2: It answers as `start_with` does.
#[tokio::test]
async fn a_constructor_does_not_run_on_a_bound_key() {
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
