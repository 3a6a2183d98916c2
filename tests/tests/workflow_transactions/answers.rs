//! A transaction that is in flight, and one whose answer is lost (W6, L3, R4).

use super::*;

/// A runtime on a file, with a store that can be held up.
struct Disk {
    runtime: Runtime<App>,
    store: Arc<Held>,
    _folder: tempfile::TempDir,
}

static BOOKED: AtomicU64 = AtomicU64::new(0);

#[derive(Default, Serialize, Deserialize)]
struct Once;

#[workflow]
impl Once {
    async fn run(flow: &Flow<Self>) -> i64 {
        flow.book().await
    }

    #[step(transaction)]
    fn book(sql: &mut Transaction<'_>) -> i64 {
        BOOKED.fetch_add(1, Ordering::Relaxed);
        write("ada", 1, sql).unwrap()
    }
}

#[derive(Primitives)]
struct App {
    once: Once,
}

async fn on_disk() -> Disk {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("held.db"), SqliteOptions::default()).unwrap();
    let store = Arc::new(Held::new(store));
    let runtime = Runtime::store(store.clone()).schema(SCHEMA).start::<App>().await.unwrap();
    Disk { runtime, store, _folder: folder }
}

async fn count(disk: &Disk) -> i64 {
    let count = |sql: &mut Transaction<'_>| sql.query_one("SELECT count(*) FROM ledger", (), |row| row.get::<i64>(0));
    disk.runtime.transaction(count).await.unwrap()
}

/// W6, L3
#[tokio::test(flavor = "multi_thread")]
async fn a_run_terminated_during_its_transaction_books_nothing() {
    let disk = on_disk().await;
    let (come, go): (Latch, Latch) = disk.store.hold();
    let run = disk.runtime.client().once("a");
    run.start().await.unwrap();
    come.wait().await;
    run.terminate().await.unwrap();
    go.open();
    assert_eq!(run.result().await.unwrap_err().failed(), Some(RunError::Terminated));
    assert_eq!(count(&disk).await, 0);
    assert_eq!(run.status().await.unwrap().unwrap().phase, RunPhase::Terminated);
}

/// W6, R4
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_whose_answer_is_lost_is_not_executed_again() {
    let disk = on_disk().await;
    let (before, asked) = (BOOKED.load(Ordering::Relaxed), disk.store.asked());
    disk.store.lose_answer();
    let run = disk.runtime.client().once("a");
    run.start().await.unwrap();
    assert_eq!(run.result().await.unwrap(), 1);
    assert_eq!((BOOKED.load(Ordering::Relaxed), disk.store.asked()), (before + 1, asked + 2));
    assert_eq!(count(&disk).await, 1);
    disk.store.lose_answer();
    let lost = disk.runtime.transaction(|sql| write("bob", 1, sql)).await.unwrap_err();
    assert!(matches!(lost.fault(), Some(Error::Store(_))), "{lost}");
    assert_eq!(count(&disk).await, 2, "it was kept, and nobody was told");
}
