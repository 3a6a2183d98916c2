//! apalis with apalis-sqlite, doing the work that queues are compared by; see `peer-work`.

use std::{
    env,
    error::Error,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use apalis::prelude::*;
use apalis_sqlite::{Config, SqlitePool, SqliteStorage, shared::SqliteStorageFactory};
use peer_work::{About, CONCURRENCY, Peer, child};
use rusqlite::Connection;
use tokio::task::JoinHandle;

fn main() -> Result<(), Box<dyn Error>> {
    child(open)
}

struct Apalis {
    queues: Vec<SqliteStorage<String>>,
    workers: Vec<JoinHandle<()>>,
    handled: Arc<AtomicU64>,
    seen: Mutex<Connection>,
}

impl Drop for Apalis {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

fn var(n: &str, d: u64) -> u64 { env::var(n).ok().and_then(|v| v.parse().ok()).unwrap_or(d) }

async fn open(path: &Path, queues: usize) -> Result<(Apalis, About), Box<dyn Error>> {
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let mode = env::var("MODE").unwrap_or("hook".into());
    let batch = var("BATCH", 100) as usize;
    let poll = Duration::from_millis(var("POLL", 50));
    let conns = var("CONNS", 10) as u32;
    let handled = Arc::new(AtomicU64::new(0));
    let mut stores = vec![];
    let mut workers = vec![];
    let config = |nth: usize| Config::default().queue(format!("queue-{nth}")).batch_size(batch).lock_tasks(var("LOCK", 0) == 1);
    let pool;
    macro_rules! go { ($b:expr, $nth:expr) => {{
        let h = handled.clone();
        let worker = WorkerBuilder::new(format!("worker-{}", $nth)).backend($b).concurrency(CONCURRENCY).data(h)
            .build(handle);
        workers.push(tokio::spawn(async move { if let Err(e) = worker.run().await { eprintln!("worker: {e}"); } }));
    }} }
    match mode.as_str() {
        "hook" => {
            let (p, listener) = SqliteStorage::connect_with_callback(&url)?;
            SqliteStorage::setup(&p).await?;
            let strategy = Strategy::new().stream(listener).interval(poll);
            let s = SqliteStorage::new(&p).with_config(config(0));
            stores.push(s.clone());
            go!(s.poll_with_strategy(strategy), 0);
            pool = p;
        }
        "poll" => {
            let o: apalis_sqlite::SqliteConnectOptions = url.parse()?;
            let o = o.busy_timeout(Duration::from_secs(60)).journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
            let sync = env::var("SYNC").unwrap_or_default();
            let o = if sync.is_empty() { o } else { o.synchronous(sync.parse()?) };
            pool = apalis_sqlite::SqlitePoolOptions::new().max_connections(conns).acquire_timeout(Duration::from_secs(60)).connect_with(o).await?;
            if sync.is_empty() { SqliteStorage::setup(&pool).await?; } else { SqliteStorage::migrations().run(&pool).await?; }
            for nth in 0..queues {
                let s = SqliteStorage::new(&pool).with_config(config(nth));
                stores.push(s.clone());
                go!(s.poll_with_interval(poll), nth);
            }
        }
        "factory" => {
            let mut f = SqliteStorageFactory::new_with_pool_options(&url, apalis_sqlite::SqlitePoolOptions::new().max_lifetime(None).idle_timeout(None).max_connections(conns));
            pool = f.pool().clone();
            SqliteStorage::setup(&pool).await?;
            for nth in 0..queues {
                let c = config(nth);
                stores.push(SqliteStorage::new(&pool).with_config(c.clone()));
                let b: apalis_sqlite::shared::SharedSqliteStorage<String> = f.create_with_config(c)?;
                if poll.is_zero() { go!(b, nth); } else { go!(b.poll_with_interval(poll), nth); }
            }
        }
        _ => panic!(),
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let about = About { peer: "apalis", version: "1.0.0", pragmas: pragmas(&pool).await?, settings: format!("{mode} {batch} {poll:?} {conns}") };
    let seen = Mutex::new(Connection::open(path)?);
    Ok((Apalis { queues: stores, workers, handled, seen }, about))
}

async fn pragmas(pool: &SqlitePool) -> Result<String, Box<dyn Error>> {
    let mut all = vec![];
    let mut said = vec![];
    for _ in 0..pool.options().get_max_connections() {
        let mut c = pool.acquire().await?;
        let j: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut *c).await?;
        let s: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *c).await?;
        said.push(format!("{j}/{s}"));
        all.push(c);
    }
    Ok(said.join(","))
}

async fn handle(_item: String, handled: Data<Arc<AtomicU64>>) {
    handled.fetch_add(1, Ordering::Release);
}

impl Peer for Apalis {
    async fn enqueue(&self, queue: usize, item: String) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.queues[queue].clone().push(item).await?)
    }

    fn finished(&self, items: u64) -> bool {
        if self.handled.load(Ordering::Acquire) < items { return false; }
        let seen = self.seen.lock().expect("never panics");
        let n: i64 = seen.query_row("SELECT COUNT(*) FROM Jobs WHERE status = 'Done'", [], |row| row.get(0)).unwrap_or(0);
        n as u64 >= items
    }
}
