//! What the functions of an `impl` block become: inputs, services, clients, and the attributes.

use std::sync::{Arc, Mutex};

use drystone::{CallError, Client, Context, Failure, Primitives, Runtime, Services, primitive};
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
}

async fn started(rate: u32) -> (Runtime<App>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let deps = Deps { rate: Rate(rate), audit: Box::new(notes.clone()) };
    (Runtime::memory().services(deps).start::<App>().await.expect("memory opens"), notes)
}

#[tokio::test]
async fn inputs_of_any_pattern_arrive_and_results_of_any_alias_come_back() {
    let (runtime, _) = started(10).await;
    let counter = runtime.client().counter("a");
    assert_eq!(counter.up().await.unwrap(), 11);
    assert_eq!(counter.sum(vec![1, 2], (3, 4), true).await.unwrap(), 21);
    assert_eq!(counter.parse("5".to_owned()).await.unwrap().count, 5);
    let refused = counter.parse("five".to_owned()).await.unwrap_err();
    assert!(matches!(refused, CallError::Failed(error) if error.message().contains("invalid digit")));
}

#[tokio::test]
async fn init_makes_the_state_or_says_why_it_cannot() {
    let (runtime, _) = started(0).await;
    let refused = runtime.client().counter("a").up().await.unwrap_err();
    assert!(refused.to_string().contains("there is no rate"), "{refused}");
}

#[tokio::test]
async fn services_are_lent_by_type_also_behind_a_trait_and_when_an_entity_ends() {
    let (runtime, notes) = started(10).await;
    let counter = runtime.client().counter("a");
    counter.up().await.unwrap();
    counter.tell().await.unwrap();
    counter.destroy().await.unwrap();
    while counter.state().await.unwrap().is_some() || notes.0.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*notes.0.lock().unwrap(), ["a has 11 of 10", "the end"]);
}

#[tokio::test]
async fn a_primitive_calls_another_and_sends_to_it_and_a_circle_is_refused() {
    let (runtime, _) = started(10).await;
    let client = runtime.client();
    client.counter("a").up().await.unwrap();
    client.caller("b").start(Caller).await.unwrap();
    assert_eq!(client.caller("b").ask("a".to_owned()).await.unwrap(), 12);
    client.caller("b").send("a".to_owned()).await.unwrap();
    while client.counter("a").state().await.unwrap().unwrap().count < 13 {
        tokio::task::yield_now().await;
    }
    assert!(client.caller("b").ring().await.is_err());
}
