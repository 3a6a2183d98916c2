//! Continuous entities and buffers over the kernel, as their callers see them.

#![allow(missing_docs, clippy::needless_pass_by_value, clippy::unwrap_used, reason = "it is as macros make it")]

use std::sync::{Arc, Mutex};

use drystone::{
    CallError, Provide, Runtime, Started,
    author::{
        Address, Code, Env, Given, HookCode, Making, Registrar, Running, Runs, Same, TakenBy, Thrown, hook_ended,
        nothing,
    },
    kinds::{
        buffer::{self, Batch, Capped, FlushResult, Folded, Reason, Reduced},
        continuous::{self, Standing, Triggered},
    },
};
use serde::{Deserialize, Serialize};

/// What the code did, and how often it is to fail.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<(Vec<String>, u32)>>);

/// A text that code never comes to an end with.
const FOR_EVER: &str = "for ever";

impl Log {
    fn write(&self, line: String) -> Result<(), std::io::Error> {
        let mut log = self.0.lock().unwrap();
        log.0.push(line);
        if log.1 > 0 {
            log.1 -= 1;
            return Err(std::io::Error::other("the service is down"));
        }
        Ok(())
    }

    fn fail(&self, times: u32) {
        self.0.lock().unwrap().1 = times;
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().0)
    }

    async fn until(&self, count: usize) -> Vec<String> {
        while self.0.lock().unwrap().0.len() < count {
            tokio::task::yield_now().await;
        }
        self.take()
    }
}

struct Deps(Log);

impl Provide<Log> for Deps {
    fn provide(&self) -> &Same<Log> {
        &self.0
    }
}

// ---- #[primitive(continuous, every = "20ms", retry = "1ms", first = "now")]

#[derive(Serialize, Deserialize)]
struct Ticker {
    count: u32,
}

const TICK: HookCode = HookCode { name: "tick", writes: true, applies: false };
const FLUSH: HookCode = HookCode { name: "flush", writes: true, applies: false };
const CODE: Code = Code { actions: &[], hooks: &[TICK], init: None, has_destroy: false, has_reduce: false };

impl drystone::Primitive for Ticker {
    type Kind = continuous::Options;
    type Handle = continuous::Verbs<Self>;
    const CODE: Code = CODE;

    fn kind() -> Self::Kind {
        const OPTIONS: continuous::Options = continuous::Options::NEW.every("20ms").first("now").retry("1ms").checked();
        OPTIONS
    }

    fn handle(address: Address) -> Self::Handle {
        drystone::Handle::new(address).into()
    }

    fn initial() -> Option<Self> {
        None
    }
}

impl<D: Provide<Log> + Send + Sync + 'static, A: 'static> Runs<D, A> for Ticker {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async { Err(Thrown::Unknown) })
    }

    fn write<'a>(&'a mut self, name: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            assert_eq!(name, "#tick");
            let () = <() as TakenBy<continuous::tick>>::take(given).map_err(Thrown::Malformed)?;
            self.count += 1;
            let context = env.context();
            let line = format!("{} {} {}", context.run_count() + 1, context.attempt(), self.count);
            hook_ended(env.service::<Log>().write(line), nothing)
        })
    }

    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        Box::pin(async { Err(Thrown::Unknown) })
    }
}

// ---- #[primitive(continuous, after = "1ms", max_attempts = 1, on_exhausted = "destroy")] with a #[destroy]

#[derive(Serialize, Deserialize)]
struct Doomed;

impl drystone::Primitive for Doomed {
    type Kind = continuous::Options;
    type Handle = continuous::Verbs<Self>;
    const CODE: Code = Code { has_destroy: true, ..CODE };

    fn kind() -> Self::Kind {
        const OPTIONS: continuous::Options =
            continuous::Options::NEW.after("1ms").max_attempts(1).on_exhausted("destroy").checked();
        OPTIONS
    }

    fn handle(address: Address) -> Self::Handle {
        drystone::Handle::new(address).into()
    }

    fn initial() -> Option<Self> {
        None
    }
}

impl<D: Provide<Log> + Send + Sync + 'static, A: 'static> Runs<D, A> for Doomed {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async { Err(Thrown::Unknown) })
    }

    fn write<'a>(&'a mut self, name: &'a str, _: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move { hook_ended(env.service::<Log>().write(name.to_owned()), nothing) })
    }

    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        Box::pin(async { Err(Thrown::Unknown) })
    }
}

// ---- #[primitive(buffer, max_items = 2, max_wait = "1h", max_attempts = 2, backoff = "1ms", max_stored = 4)]

#[derive(Default, Serialize, Deserialize)]
struct Contacts;

impl drystone::Primitive for Contacts {
    type Kind = buffer::Options;
    type Handle = buffer::Verbs<Self, Batch<String>>;
    const CODE: Code = Code { hooks: &[FLUSH], ..CODE };

    fn kind() -> Self::Kind {
        const OPTIONS: buffer::Options =
            buffer::Options::NEW.max_items(2).max_wait("1h").max_attempts(2).backoff("1ms").max_stored(4).checked();
        OPTIONS
    }

    fn handle(address: Address) -> Self::Handle {
        drystone::Handle::new(address).into()
    }

    fn initial() -> Option<Self> {
        Some(Self)
    }

    fn check_item(item: &[u8]) -> Result<(), String> {
        <Batch<String> as TakenBy<buffer::flush>>::check_item(item)
    }
}

impl<D: Provide<Log> + Send + Sync + 'static, A: 'static> Runs<D, A> for Contacts {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async { Err(Thrown::Unknown) })
    }

    fn write<'a>(&'a mut self, _: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            let batch = <Batch<String> as TakenBy<buffer::flush>>::take(given).map_err(Thrown::Malformed)?;
            assert_eq!((batch.id, batch.attempt), (env.context().work_id(), env.context().attempt()));
            if batch.items[0] == FOR_EVER {
                std::future::pending::<()>().await;
            }
            let line = format!("{} {} {}", batch.number, batch.attempt, batch.items.join(","));
            hook_ended(env.service::<Log>().write(line), nothing)
        })
    }

    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        Box::pin(async { Err(Thrown::Unknown) })
    }
}

// ---- #[primitive(buffer, max_wait = "30ms")] with #[reduce] fn add(total: &mut u64, sale: u64)

#[derive(Default, Serialize, Deserialize)]
struct Sales;

impl drystone::Primitive for Sales {
    type Kind = buffer::Options;
    type Handle = buffer::Verbs<Self, Reduced<u64>>;
    const CODE: Code = Code { hooks: &[FLUSH], has_reduce: true, ..CODE };

    fn kind() -> Self::Kind {
        const OPTIONS: buffer::Options = buffer::Options::NEW.max_wait("30ms").checked();
        OPTIONS
    }

    fn handle(address: Address) -> Self::Handle {
        drystone::Handle::new(address).into()
    }

    fn initial() -> Option<Self> {
        Some(Self)
    }

    fn reduce(folded: Option<&[u8]>, item: &[u8]) -> Result<drystone::author::Bytes, String> {
        drystone::author::fold(folded, item, |total: &mut u64, sale: u64| *total += sale)
    }
}

impl<D: Provide<Log> + Send + Sync + 'static, A: 'static> Runs<D, A> for Sales {
    fn read<'a>(&'a self, _: &'a str, _: Given, _: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async { Err(Thrown::Unknown) })
    }

    fn write<'a>(&'a mut self, _: &'a str, given: Given, env: &'a Env<D, A>) -> Running<'a> {
        Box::pin(async move {
            let folded = <Folded<u64> as TakenBy<buffer::flush>>::take(given).map_err(Thrown::Malformed)?;
            assert_eq!(folded.reason, Reason::Deadline);
            hook_ended(env.service::<Log>().write(format!("{} of {}", folded.value, folded.count)), nothing)
        })
    }

    fn init<'a>(_: &'a Env<D, A>) -> Making<'a, Self> {
        Box::pin(async { Err(Thrown::Unknown) })
    }
}

// ---- #[derive(Primitives)]

struct App;

struct AppClient(drystone::author::Desk);

impl AppClient {
    fn ticker(&self, key: &str) -> continuous::Verbs<Ticker> {
        <Ticker as drystone::Primitive>::handle(self.0.address("ticker", key))
    }

    fn doomed(&self, key: &str) -> continuous::Verbs<Doomed> {
        <Doomed as drystone::Primitive>::handle(self.0.address("doomed", key))
    }

    fn contacts(&self, key: &str) -> buffer::Verbs<Contacts, Batch<String>> {
        <Contacts as drystone::Primitive>::handle(self.0.address("contacts", key))
    }

    fn sales(&self, key: &str) -> buffer::Verbs<Sales, Reduced<u64>> {
        <Sales as drystone::Primitive>::handle(self.0.address("sales", key))
    }
}

impl drystone::Primitives for App {
    type Client = AppClient;

    fn client(desk: drystone::author::Desk) -> AppClient {
        AppClient(desk)
    }
}

impl<D: Provide<Log> + Send + Sync + 'static> drystone::author::App<D> for App {
    fn register(registrar: &mut Registrar<D, Self>) {
        registrar.add::<Ticker>("ticker");
        registrar.add::<Doomed>("doomed");
        registrar.add::<Contacts>("contacts");
        registrar.add::<Sales>("sales");
    }
}

async fn start() -> (Runtime<App>, Log) {
    let log = Log::default();
    (Runtime::memory().services(Deps(log.clone())).start::<App>().await.unwrap(), log)
}

// ---- what they do

/// C2, C3, C4, C5
#[tokio::test]
async fn a_ticker_ticks_retries_stops_and_resumes() {
    let (runtime, log) = start().await;
    let ticker = runtime.client().ticker("a");
    assert!(ticker.stop().await.unwrap_err().is_not_bound());
    log.fail(1);
    assert_eq!(ticker.start(Ticker { count: 10 }).await.unwrap(), Started::Started);
    // What a failing execution did to the state is not kept.
    assert_eq!(log.until(3).await[..3], ["1 1 11", "1 2 11", "2 1 12"]);
    assert_eq!(ticker.start(Ticker { count: 99 }).await.unwrap(), Started::AlreadyRunning);
    assert!(ticker.stop().await.unwrap());
    let mut status = ticker.status().await.unwrap().unwrap();
    while status.next_run_at.is_some() {
        tokio::task::yield_now().await;
        status = ticker.status().await.unwrap().unwrap();
    }
    assert_eq!((status.status, status.errors[0].error.message()), (Standing::Stopped, "the service is down"));
    let count = ticker.state().await.unwrap().unwrap().count;
    assert_eq!(u64::from(count), 10 + status.run_count);
    log.take();
    assert_eq!(ticker.trigger().await.unwrap(), Triggered::Now);
    assert_eq!(log.until(1).await, [format!("{0} 1 {1}", status.run_count + 1, count + 1)]);
    assert_eq!(ticker.start(Ticker { count: 99 }).await.unwrap(), Started::Resumed);
    log.until(1).await;
    assert!(ticker.destroy().await.unwrap());
}

/// A3, E8
#[tokio::test]
async fn what_a_kind_destroys_still_runs_its_destroy() {
    let (runtime, log) = start().await;
    log.fail(1);
    let doomed = runtime.client().doomed("a");
    doomed.start(Doomed).await.unwrap();
    assert_eq!(log.until(2).await, ["#tick", "#destroy"]);
    while doomed.view().await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
}

/// B2, B3, B4, B5, B6
#[tokio::test]
async fn a_buffer_flushes_by_capacity_retries_and_answers_who_waits() {
    let (runtime, log) = start().await;
    let contacts = runtime.client().contacts("a");
    assert_eq!(contacts.add("ann".into()).await.unwrap().buffered, 1);
    assert_eq!(contacts.add("bob".into()).await.unwrap().buffered, 2);
    assert_eq!(contacts.flush().await.unwrap().result, FlushResult::Flushed);
    assert_eq!(log.take(), ["1 1 ann,bob"]);
    log.fail(1);
    contacts.add("cid".into()).await.unwrap();
    let flushed = contacts.flush().await.unwrap();
    assert_eq!((flushed.count, flushed.result), (1, FlushResult::Flushed));
    assert_eq!(log.take(), ["2 1 cid", "2 2 cid"]);
    assert_eq!(contacts.flush().await.unwrap().count, 0);
    contacts.add("dan".into()).await.unwrap();
    assert_eq!(contacts.clear().await.unwrap(), 1);
    log.fail(2);
    contacts.add("eve".into()).await.unwrap();
    let flushed = contacts.flush().await.unwrap();
    assert!(matches!(flushed.result, FlushResult::Dead(error) if error.message() == "the service is down"));
    let status = contacts.status().await.unwrap().unwrap();
    assert_eq!((status.flushed.items, status.dead.items, status.closed.batches), (3, 1, 0));
}

/// B8
#[tokio::test]
async fn a_buffer_that_is_full_says_so() {
    let (runtime, _) = start().await;
    let contacts = runtime.client().contacts("a");
    for _ in 0..4 {
        contacts.add(FOR_EVER.into()).await.unwrap();
    }
    let Err(CallError::Failed(full)) = contacts.add("one more".into()).await else { panic!("it is full") };
    assert_eq!((full.what, full.limit), (Capped::Items, 4));
}

/// B1, B7
#[tokio::test]
async fn what_is_folded_is_flushed_after_its_wait() {
    let (runtime, log) = start().await;
    let sales = runtime.client().sales("a");
    for sale in [5, 7, 30] {
        sales.add(sale).await.unwrap();
    }
    assert_eq!(log.until(1).await, ["42 of 3"]);
}
