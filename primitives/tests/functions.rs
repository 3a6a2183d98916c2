//! What the functions of an `impl` block become: inputs, services, clients, and the attributes.

use std::sync::{Arc, Mutex};

use drystone::{CallError, Client, Context, Failure, Primitives, Services, d, primitive, testing::World};
use serde::{Deserialize, Serialize};

trait Audit: Send + Sync {
    fn note(&self, text: &str);
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Audit for Arc<Notes> {
    fn note(&self, text: &str) {
        self.0.lock().expect("nobody panics").push(text.to_owned());
    }
}

struct Rate<T>(T);

type SumResult = Result<u32, Failure>;

#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    count: u32,
}

#[primitive(object)]
impl Counter {
    const STEP: u32 = 1;

    /// Begins at what the rate says.
    #[init]
    async fn begin(rate: &Rate<u32>) -> Result<Self, Failure> {
        if rate.0 == 0 {
            return Err("there is no rate".into());
        }
        Ok(Self { count: rate.0 })
    }

    /// Adds one.
    async fn up(&mut self) -> u32 {
        self.grow(Self::STEP);
        self.count
    }

    async fn sum(&self, mut args: Vec<u32>, (left, right): (u32, u32), _: bool) -> SumResult {
        args.push(left + right);
        Ok(args.iter().sum::<u32>() + self.count)
    }

    async fn parse(&mut self, input: String) -> Result<Self, Failure> {
        self.count = input.parse()?;
        Ok(Self { count: self.count })
    }

    async fn tell(&self, audit: &dyn Audit, rate: &Rate<u32>, cx: &Context) {
        audit.note(&format!("{} has {} of {}", cx.key_text(), self.count, rate.0));
    }

    #[cfg(any())]
    async fn never(&self) -> Unknown {
        unreachable!()
    }

    #[destroy]
    async fn end(&self, audit: &dyn Audit) -> Result<(), Failure> {
        audit.note("the end");
        Ok(())
    }

    fn grow(&mut self, by: u32) {
        self.count += by;
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Caller;

#[primitive(object)]
impl Caller {
    async fn ask(&self, key: String, counters: &Client<Counter>) -> Result<u32, Failure> {
        Ok(counters.get(key).up().await?)
    }

    async fn send(&mut self, key: String, counters: &Client<Counter>) {
        counters.send(counters.get(key).up());
    }

    async fn ring(&self, callers: &Client<Self>, cx: &Context) -> Result<u32, Failure> {
        Ok(callers.get(cx.key()).ask("never".to_owned()).await?)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Clockwork {
    turns: u32,
}

#[primitive(continuous, every = "1h", first = "now")]
impl Clockwork {
    #[tick]
    async fn tick(&self, rate: &Rate<u32>) -> Result<u32, std::io::Error> {
        Ok(self.turns + rate.0)
    }

    #[apply]
    fn apply(&mut self, turns: u32) {
        self.turns = turns;
    }
}

#[derive(Serialize, Deserialize)]
struct Doomed;

#[primitive(continuous, after = "1s", max_attempts = 1, on_exhausted = "destroy")]
impl Doomed {
    #[tick]
    async fn tick(&mut self, audit: &dyn Audit) -> Result<(), &'static str> {
        audit.note("tick");
        Err("as it must")
    }

    #[destroy]
    async fn end(&mut self, audit: &dyn Audit) -> Result<(), Failure> {
        audit.note("destroy");
        Ok(())
    }
}

#[derive(Services)]
struct Deps {
    rate: Rate<u32>,
    audit: Box<dyn Audit>,
}

#[derive(Primitives)]
struct App {
    counter: Counter,
    /// Calls others.
    caller: Caller,
    clockwork: Clockwork,
    doomed: Doomed,
}

async fn started(rate: u32) -> (World<App>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let deps = Deps { rate: Rate(rate), audit: Box::new(notes.clone()) };
    (World::memory().services(deps).start::<App>().await, notes)
}

#[tokio::test]
async fn inputs_of_any_pattern_arrive_and_results_of_any_alias_come_back() {
    let (world, _) = started(10).await;
    let counter = world.client().counter("a");
    assert_eq!(counter.up().await.unwrap(), 11);
    assert_eq!(counter.sum(vec![1, 2], (3, 4), true).await.unwrap(), 21);
    assert_eq!(counter.parse("5".to_owned()).await.unwrap().count, 5);
    let refused = counter.parse("five".to_owned()).await.unwrap_err();
    assert!(matches!(refused, CallError::Failed(error) if error.message().contains("invalid digit")));
}

#[tokio::test]
async fn init_makes_the_state_or_says_why_it_cannot() {
    let (world, _) = started(0).await;
    let refused = world.client().counter("a").up().await.unwrap_err();
    assert!(refused.to_string().contains("there is no rate"), "{refused}");
}

/// Also behind a trait, and when an entity ends.
#[tokio::test]
async fn services_are_lent_by_type() {
    let (world, notes) = started(10).await;
    let counter = world.client().counter("a");
    counter.up().await.unwrap();
    counter.tell().await.unwrap();
    counter.destroy().await.unwrap();
    assert!(counter.state().await.unwrap().is_none());
    assert_eq!(*notes.0.lock().unwrap(), ["a has 11 of 10", "the end"]);
}

/// A circle is refused.
#[tokio::test]
async fn a_primitive_calls_another_and_sends_to_it() {
    let (world, _) = started(10).await;
    let client = world.client();
    client.counter("a").up().await.unwrap();
    assert!(client.caller("b").state().await.unwrap().is_none());
    client.caller("b").start_with(Caller).await.unwrap();
    assert!(client.caller("b").state().await.unwrap().is_some());
    assert_eq!(client.caller("b").ask("a".to_owned()).await.unwrap(), 12);
    client.caller("b").send("a".to_owned()).await.unwrap();
    assert_eq!(client.counter("a").state().await.unwrap().unwrap().count, 13);
    assert!(client.caller("b").ring().await.is_err());
}

#[tokio::test]
async fn what_a_tick_returns_that_only_borrows_the_state_is_applied() {
    let (world, _) = started(10).await;
    let clockwork = world.client().clockwork("a");
    clockwork.start_with(Clockwork { turns: 1 }).await.unwrap();
    assert_eq!(clockwork.state().await.unwrap().unwrap().turns, 11);
}

/// A3, E8
#[tokio::test]
async fn what_a_kind_destroys_still_runs_its_destroy() {
    let (world, notes) = started(10).await;
    world.client().doomed("a").start_with(Doomed).await.unwrap();
    world.advance(d!("1s")).await;
    assert_eq!(*notes.0.lock().unwrap(), ["tick", "destroy"]);
    assert!(world.client().doomed("a").view().await.unwrap().is_none());
}
