//! Continuous entities and buffers over the kernel, as their callers see them.

use std::sync::{Arc, Mutex};

use drystone::{
    CallError, Context, Primitives, Runtime, Services, Started,
    kinds::{
        buffer::{Batch, Capped, FlushResult, Folded, Reason},
        continuous::{Standing, Triggered},
    },
    primitive,
};
use serde::{Deserialize, Serialize};

/// What the code did, and how often it is to fail.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<(Vec<String>, u32)>>);

/// A text that code never comes to an end with.
const FOR_EVER: &str = "for ever";

impl Log {
    fn write(&self, line: String) -> Result<(), std::io::Error> {
        let mut log = self.0.lock().expect("nobody panics with it");
        log.0.push(line);
        if log.1 > 0 {
            log.1 -= 1;
            return Err(std::io::Error::other("the service is down"));
        }
        Ok(())
    }

    fn fail(&self, times: u32) {
        self.0.lock().expect("nobody panics with it").1 = times;
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("nobody panics with it").0)
    }

    async fn until(&self, count: usize) -> Vec<String> {
        while self.0.lock().expect("nobody panics with it").0.len() < count {
            tokio::task::yield_now().await;
        }
        self.take()
    }
}

#[derive(Services)]
struct Deps {
    log: Log,
}

#[derive(Serialize, Deserialize)]
struct Ticker {
    count: u32,
}

#[primitive(continuous, every = "20ms", first = "now", retry = "1ms")]
impl Ticker {
    #[tick]
    async fn tick(&mut self, log: &Log, cx: &Context) -> Result<(), std::io::Error> {
        self.count += 1;
        log.write(format!("{} {} {}", cx.run_count() + 1, cx.attempt(), self.count))
    }
}

#[derive(Serialize, Deserialize)]
struct Doomed;

#[primitive(continuous, after = "1ms", max_attempts = 1, on_exhausted = "destroy")]
impl Doomed {
    #[tick]
    async fn tick(&mut self, log: &Log) -> Result<(), std::io::Error> {
        log.write("#tick".into())
    }

    #[destroy]
    async fn end(&mut self, log: &Log) -> Result<(), std::io::Error> {
        log.write("#destroy".into())
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Contacts;

#[primitive(buffer, max_items = 2, max_wait = "1h", max_attempts = 2, backoff = "1ms", max_stored = 4)]
impl Contacts {
    #[flush]
    async fn push(&mut self, batch: Batch<String>, log: &Log, cx: &Context) -> Result<(), std::io::Error> {
        assert_eq!((batch.id, batch.attempt), (cx.work_id(), cx.attempt()));
        if batch.items[0] == FOR_EVER {
            std::future::pending::<()>().await;
        }
        log.write(format!("{} {} {}", batch.number, batch.attempt, batch.items.join(",")))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Sales;

#[primitive(buffer, max_wait = "30ms")]
impl Sales {
    #[reduce]
    fn fold(total: &mut u64, sale: u64) {
        *total += sale;
    }

    #[flush]
    async fn report(&mut self, folded: Folded<u64>, log: &Log) -> Result<(), std::io::Error> {
        assert_eq!(folded.reason, Reason::Deadline);
        log.write(format!("{} of {}", folded.value, folded.count))
    }
}

#[derive(Primitives)]
struct App {
    ticker: Ticker,
    doomed: Doomed,
    contacts: Contacts,
    sales: Sales,
}

async fn start() -> (Runtime<App>, Log) {
    let log = Log::default();
    (Runtime::memory().services(Deps { log: log.clone() }).start::<App>().await.expect("memory opens"), log)
}

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
