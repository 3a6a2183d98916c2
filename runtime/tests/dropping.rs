//! A kernel on real threads that is dropped without a shutdown still ends in order (R2).
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test on real threads; one that cannot go on fails"
)]

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use drystone_runtime::{
    Borrow, Call, Commit, Cx, Definition, Driver, Entity, Handler, Hot, Input, Kernel, Key, Millis, Needed, Next, Now,
    Options, Outcome, Registry, Rows, Store, Work, driver::TokioDriver, kernel::Report, store::Memory,
};
use tokio::sync::Semaphore;

/// `work` lists a piece of work that never ends; `drop` drops the kernel inside its turn, on a thread of the
/// kernel.
#[derive(Clone)]
struct Toy {
    has_begun: Arc<Semaphore>,
    kernel: Arc<Mutex<Option<Kernel>>>,
}

impl Handler for Toy {
    fn borrow(&self, _: &str) -> Borrow {
        Borrow::Exclusive
    }

    fn turn(&self, _: &mut Hot, _: &Key, _: Option<&Entity>, _: &Rows, input: &Input, _: Now) -> Next {
        let Input::Call { verb, ticket, .. } = input else { return Next::nothing() };
        if *verb == "drop" {
            drop(self.kernel.lock().unwrap().take());
        }
        Next::Commit(Commit { state: Some(Bytes::from_static(b"1")), ..Commit::reply(*ticket, Ok(Bytes::new())) })
    }

    fn work(&self, _: &mut Hot, _: &Entity, _: &Rows, _: Millis) -> Needed<Vec<Work>> {
        Needed::Ready(vec![Work::new("endless")])
    }

    fn run(&self, _: &mut Hot, _: Option<&Entity>, _: &Work, _: Cx) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let has_begun = self.has_begun.clone();
        Box::pin(async move {
            has_begun.add_permits(1);
            std::future::pending().await
        })
    }
}

fn store() -> Arc<dyn Store> {
    let driver = TokioDriver::new().unwrap();
    Arc::new(Memory::new(move || driver.now(), 8))
}

async fn open(store: &Arc<dyn Store>) -> (Kernel, Report, Toy) {
    let toy = Toy { has_begun: Arc::new(Semaphore::new(0)), kernel: Arc::default() };
    let registry = Registry::new().with(Definition {
        name: "toy".into(),
        kind: "toy".into(),
        space: "app".into(),
        config: Bytes::new(),
        handler: Arc::new(toy.clone()),
    });
    let driver = Arc::new(TokioDriver::new().unwrap());
    let (kernel, report) = Kernel::open(store.clone(), registry, driver, Options::default()).await.unwrap();
    (kernel, report, toy)
}

async fn dropped_while_work_runs() {
    let store = store();
    for life in 0..10 {
        let (kernel, report, toy) = open(&store).await;
        assert_eq!((report.partitions, report.unclean), (8, 0), "life {life}");
        kernel.call(Call::new("toy", "a", "work", Bytes::new())).await.unwrap();
        toy.has_begun.acquire().await.unwrap().forget();
        drop(kernel);
    }
    let (kernel, ..) = open(&store).await;
    let view = kernel.view(&Key::new("app", "a").unwrap()).await.unwrap().unwrap();
    assert!(view.entity.crashes.is_none());
}

/// R2, W2
#[tokio::test]
async fn a_kernel_that_is_dropped_releases_its_partitions_clean() {
    dropped_while_work_runs().await;
}

/// R2, W2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kernel_dropped_on_a_runtime_thread_releases_its_partitions() {
    tokio::spawn(dropped_while_work_runs()).await.unwrap();
}

/// R2, W2
#[tokio::test]
async fn a_kernel_dropped_on_its_own_thread_ends_without_a_deadlock() {
    let store = store();
    let (kernel, _, toy) = open(&store).await;
    let (mut listener, weak_kernel) = (kernel.listen(), kernel.weak_kernel());
    *toy.kernel.lock().unwrap() = Some(kernel);
    let _ = weak_kernel.call(Call::new("toy", "a", "drop", Bytes::new())).await;
    while listener.next().await.is_some() {}
    let (_kernel, report, _) = open(&store).await;
    assert_eq!((report.partitions, report.unclean), (8, 0));
}
