//! A shutdown leaves nothing behind: the file is free, and the threads have ended (R2). The next process
//! may wait for the file (K4).

#![allow(clippy::unwrap_used, reason = "a helper of a test panics as the test does")]

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    task::Poll,
};

use drystone::{
    Builder, CallError, Client, Context, Error, Failure, Primitives, Runtime, Services, d, primitive,
    runtime::store::StoreErrorKind, testing::Latch,
};
use drystone_tests::typed::fault;
use serde::{Deserialize, Serialize};

#[derive(Clone, Default)]
struct Gates {
    /// Opened by the test to let the code of `Shop` continue.
    gate: Latch,
    /// Opened by the code of `Shop` when it has begun.
    begun: Latch,
}

#[derive(Clone, Default, Services)]
struct Fakes {
    gates: Gates,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cart {
    items: u32,
}

#[primitive(object)]
impl Cart {
    async fn put(&mut self) -> u32 {
        self.items += 1;
        self.items
    }
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Shop;

#[primitive(object)]
impl Shop {
    /// Waits for the gate, then calls a cart.
    async fn sell(&mut self, gates: &Gates, carts: &Client<Cart>, _cx: &Context) -> Result<u32, Failure> {
        gates.begun.open();
        gates.gate.clone().wait().await;
        Ok(carts.get("sold").put().await?)
    }
}

/// A semaphore with one permit.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Door;

#[primitive(semaphore, permits = 1)]
impl Door {}

#[derive(Primitives)]
struct App {
    cart: Cart,
    shop: Shop,
    door: Door,
}

async fn start(path: &Path) -> Runtime<App> {
    start_with(path, &Gates::default()).await
}

async fn start_with(path: &Path, gates: &Gates) -> Runtime<App> {
    builder(path, gates).start::<App>().await.unwrap()
}

fn builder(path: &Path, gates: &Gates) -> Builder<Fakes> {
    Runtime::sqlite(path).services(Fakes { gates: gates.clone() })
}

/// Held by each test, so that only one runs at a time: the tests look at the threads of the process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The kernel's threads in this process.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.starts_with("drystone")).collect()
}

/// R2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_is_free_when_a_shutdown_answers_whatever_is_kept() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut kept = Vec::new();
    for round in 1..=100 {
        let runtime = start(&path).await;
        let client = runtime.client();
        assert_eq!(client.cart("c").put().await.unwrap(), round);
        // The permit outlives the runtime, so the next round uses a new door.
        let door = round.to_string();
        let permit = client.door(&door).acquire().await.unwrap();
        let waits = tokio::spawn(client.door(&door).acquire().into_future());
        let mut events = runtime.events();
        runtime.shutdown(d!("5s")).await.unwrap();
        assert_eq!(threads(), Vec::<String>::new(), "round {round}");
        let wal = std::fs::metadata(folder.path().join("app.db-wal")).map_or(0, |found| found.len());
        assert_eq!(wal, 0, "the log is in the file");
        assert!(matches!(fault(client.cart("c").put().await), Error::Closing));
        while events.next().await.is_some() {}
        assert!(runtime.events().next().await.is_none());
        kept.push((runtime, client, permit, waits));
    }
    for (runtime, client, permit, waits) in kept {
        assert!(waits.await.unwrap().is_err(), "nobody waits for ever");
        assert!(matches!(fault(client.cart("c").state().await), Error::Closing));
        assert!(matches!(runtime.view("cart", "c").await, Err(Error::Closing)));
        assert!(matches!(runtime.explain("cart", "c").await, Err(Error::Closing)));
        drop(permit);
    }
}

/// R2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_shutdown_waits_for_the_first_and_is_no_error() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let gates = Gates::default();
    let runtime = start_with(&path, &gates).await;
    runtime.client().cart("c").put().await.unwrap();
    let sold = tokio::spawn(runtime.client().shop("s").sell().into_future());
    gates.begun.clone().wait().await;
    // Both shutdowns have begun before the code that they wait for may end.
    let mut both = Box::pin(async { tokio::join!(runtime.shutdown(d!("1h")), runtime.shutdown(d!("1h"))) });
    assert!(std::future::poll_fn(|cx| Poll::Ready(both.as_mut().poll(cx).is_pending())).await);
    gates.gate.open();
    let (first, second) = both.await;
    first.unwrap();
    second.unwrap();
    assert!(sold.await.unwrap().is_err());
    let again = start(&path).await;
    runtime.shutdown(d!("5s")).await.unwrap();
    assert_eq!(again.client().cart("c").put().await.unwrap(), 2, "the next runtime is none of its business");
    again.shutdown(d!("5s")).await.unwrap();
}

/// R2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_that_was_abandoned_is_ended_by_the_next() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let gates = Gates::default();
    let runtime = start_with(&path, &gates).await;
    let sold = tokio::spawn(runtime.client().shop("s").sell().into_future());
    gates.begun.clone().wait().await;
    let mut left = Box::pin(runtime.shutdown(d!("1h")));
    assert!(std::future::poll_fn(|cx| Poll::Ready(left.as_mut().poll(cx).is_pending())).await);
    drop(left);
    runtime.shutdown(d!("0s")).await.unwrap();
    assert!(matches!(sold.await.unwrap(), Err(CallError::Fault(_))));
    gates.gate.open();
    start(&path).await.shutdown(d!("5s")).await.unwrap();
}

/// R2: Each call of the code is answered with an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_that_runs_during_a_shutdown_gets_typed_errors() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let gates = Gates::default();
    let path = folder.path().join("app.db");
    let runtime = start_with(&path, &gates).await;
    let sold = tokio::spawn(runtime.client().shop("s").sell().into_future());
    gates.begun.clone().wait().await;
    let shutdown = async {
        let mut shutdown = Box::pin(runtime.shutdown(d!("1h")));
        assert!(std::future::poll_fn(|cx| Poll::Ready(shutdown.as_mut().poll(cx).is_pending())).await);
        gates.gate.open();
        shutdown.await.unwrap();
    };
    let (sold, ()) = tokio::join!(sold, shutdown);
    let Err(CallError::Failed(failure)) = sold.unwrap() else { panic!("the code has an error of its own") };
    assert!(failure.to_string().contains("shutting down"), "{failure}");
}

/// R2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_is_free_when_a_runtime_is_dropped() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    for round in 1..=20 {
        let runtime = start(&path).await;
        assert_eq!(runtime.client().cart("c").put().await.unwrap(), round);
        drop(runtime);
    }
}

const PATH: &str = "DRYSTONE_SHUTDOWN_PATH";

/// Starts this program as another process, which opens the file and shuts down when it reads a line.
fn start_another(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_part_of_another_process", "--nocapture"]).env(PATH, path);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("is open")), "the other process has opened the file");
    child
}

/// Not a promise of its own: the code of the other process. Without a path it does nothing and passes.
#[tokio::test]
async fn the_part_of_another_process() {
    let Ok(path) = std::env::var(PATH) else { return };
    let runtime = start(Path::new(&path)).await;
    runtime.client().cart("c").put().await.unwrap();
    println!("is open");
    let _ = std::io::stdin().lines().next();
    runtime.shutdown(d!("5s")).await.unwrap();
}

fn locked_by(error: &Error, holder: u32) -> bool {
    let Error::Store(error) = error else { return false };
    error.kind() == StoreErrorKind::Locked && error.to_string().contains(&format!("is in use by process {holder};"))
}

/// K4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_waits_for_the_file_until_another_one_has_shut_down() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut old = start_another(&path);
    let builder = || builder(&path, &Gates::default());
    let refused = builder().start::<App>().await.unwrap_err();
    assert!(locked_by(&refused, old.id()), "{refused}");
    let too_late = builder().wait_for_file(d!("100ms")).start::<App>().await.unwrap_err();
    assert!(locked_by(&too_late, old.id()), "{too_late}");
    let mut starts = builder().wait_for_file(d!("1h")).start::<App>().into_future();
    assert!(std::future::poll_fn(|cx| Poll::Ready(starts.as_mut().poll(cx).is_pending())).await);
    old.stdin.take().unwrap().write_all(b"end\n").unwrap();
    let runtime = starts.await.unwrap();
    assert_eq!(runtime.report().unclean, 0);
    assert_eq!(runtime.client().cart("c").put().await.unwrap(), 2);
    assert!(old.wait().unwrap().success());
    runtime.shutdown(d!("5s")).await.unwrap();
}

/// K4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_id_of_a_process_that_was_killed_keeps_nobody_out() {
    let _alone = ALONE.lock().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let mut old = start_another(&path);
    old.kill().unwrap();
    old.wait().unwrap();
    let named = std::fs::read_to_string(folder.path().join("app.db.lock")).unwrap();
    assert_eq!(named.trim(), old.id().to_string());
    let runtime = start(&path).await;
    assert_eq!(runtime.client().cart("c").put().await.unwrap(), 2);
    runtime.shutdown(d!("5s")).await.unwrap();
}
