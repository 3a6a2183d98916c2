//! The kernel on real threads: a call is answered, is durable, and is there after a restart.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test on real threads; one that cannot go on fails"
)]

use std::{pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Commit, Cx, Definition, Driver, Entity, Error, Handler, Hot, Input, Kernel, Key, Millis, Needed,
    Next, Now, Options, Outcome, Registry, Rows, Store, Work,
    driver::TokioDriver,
    store::{Memory, Sqlite, SqliteOptions},
};

/// A counter: `add` adds a number, `get` reads the total.
struct Counter;

impl Handler for Counter {
    fn borrow(&self, verb: &str) -> Borrow {
        if verb == "get" { Borrow::Shared } else { Borrow::Exclusive }
    }

    fn turn(&self, _: &mut Hot, _: &Key, entity: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { verb, body, ticket, .. } = input else { return Next::nothing() };
        let total = entity.map_or(0, |entity| u64::from_be_bytes(entity.state[..].try_into().unwrap()));
        if *verb == "get" {
            return Next::Commit(Commit::reply(*ticket, Ok(Bytes::copy_from_slice(&total.to_be_bytes()))));
        }
        let total = Bytes::copy_from_slice(&(total + u64::from(body[0])).to_be_bytes());
        Next::Commit(Commit { state: Some(total.clone()), ..Commit::reply(*ticket, Ok(total)) })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(Vec::new())
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        unreachable!("a counter lists no work")
    }
}

fn registry() -> Registry {
    Registry::new().with(Definition {
        name: "counter".into(),
        kind: "counter".into(),
        space: "app".into(),
        config: Bytes::new(),
        handler: Arc::new(Counter),
    })
}

async fn open(store: Arc<dyn Store>) -> Kernel {
    let driver = Arc::new(TokioDriver::new().unwrap());
    Kernel::open(store, registry(), driver, Options::default()).await.unwrap().0
}

async fn count(kernel: &Kernel, verb: &'static str) -> Result<u64, Error> {
    let reply = kernel.call(Call::new("counter", "a", verb, vec![3])).await?;
    Ok(u64::from_be_bytes(reply[..].try_into().unwrap()))
}

async fn a_call_survives_the_kernel(first: Arc<dyn Store>, again: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) {
    let kernel = open(first.clone()).await;
    assert_eq!(count(&kernel, "get").await.unwrap(), 0);
    for total in 1..=100 {
        assert_eq!(count(&kernel, "add").await.unwrap(), total * 3);
    }
    assert_eq!(count(&kernel, "get").await.unwrap(), 300);
    kernel.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(matches!(count(&kernel, "add").await, Err(Error::Closing)));
    drop(kernel);
    let kernel = open(again(first)).await;
    assert_eq!(count(&kernel, "get").await.unwrap(), 300);
    assert_eq!(count(&kernel, "add").await.unwrap(), 303);
}

/// E1, E4, R2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_survives_the_kernel_in_memory() {
    let driver = TokioDriver::new().unwrap();
    let memory: Arc<dyn Store> = Arc::new(Memory::new(move || driver.now(), 8));
    a_call_survives_the_kernel(memory, |same| same).await;
}

/// E1, E4, K4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_survives_the_kernel_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&path, SqliteOptions::default()).unwrap());
    a_call_survives_the_kernel(store, |first| first).await;
}

/// E3, R8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_of_one_key_are_all_answered_in_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("app.db"), SqliteOptions::default()).unwrap();
    let kernel = open(Arc::new(store)).await;
    let callers = (0..64).map(|_| {
        let kernel = kernel.clone();
        tokio::spawn(async move {
            let mut totals = Vec::new();
            for _ in 0..200 {
                totals.push(count(&kernel, "add").await.unwrap());
            }
            totals
        })
    });
    let mut all = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        let totals = caller.await.unwrap();
        assert!(totals.is_sorted());
        all.extend(totals);
    }
    all.sort_unstable();
    assert_eq!(all, (1..=64 * 200).map(|call| call * 3).collect::<Vec<u64>>());
}
