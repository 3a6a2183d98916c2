//! duroxide with its SQLite provider, doing the runs that engines are compared by; see `peer-work`.
//!
//! Its options are set as it was found to be fastest: more dispatchers than one of each kind do not help. Its pool has five
//! connections, and its transactions begin by reading: one that then writes after another has written fails with
//! "database is locked", and a dispatcher to which that happens sleeps for 200 ms and more. No option changes that. With
//! `PEER_CHANGED` four of the five are [held](hold) and everything goes through the last: with 64 runs at once that is five
//! times as fast.
//!
//! Its client waits for a run by looking at growing intervals of up to 100 ms. Here a run says [when it ends](ended), and
//! only then is looked whether that is recorded.

mod ended;
mod pragmas;

use std::{env, error::Error, path::Path, sync::Arc, time::Duration};

use duroxide::{
    ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus,
    providers::sqlite::SqliteProvider,
    runtime::{Runtime, RuntimeOptions, registry::ActivityRegistry},
};
use peer_work::{About, Engine, STEPS, child_with_runs};
use sqlx::{Sqlite, SqlitePool, pool::PoolConnection};
use tokio::time::{sleep, timeout};
use tracing::subscriber::NoSubscriber;

use crate::ended::Ended;

/// Between two looks at whether a run that has ended is recorded.
const LOOK: Duration = Duration::from_millis(1);
/// A run that fails does not say so; it is looked for after so long. More often would cost the others their connection.
const LOOK_FOR_FAILURE: Duration = Duration::from_secs(30);

fn main() -> Result<(), Box<dyn Error>> {
    // Otherwise duroxide logs, and to where the answer is read from.
    tracing::subscriber::set_global_default(NoSubscriber::new())?;
    child_with_runs(&open)
}

struct Duroxide {
    client: Client,
    ended: Ended,
    _runtime: Arc<Runtime>,
    _held: Vec<PoolConnection<Sqlite>>,
}

async fn open(path: &Path, at_once: usize) -> Result<(Duroxide, About), Box<dyn Error>> {
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let store = Arc::new(SqliteProvider::new(&url, None).await?);
    let is_changed = env::var_os("PEER_CHANGED").is_some();
    let held = if is_changed { hold(store.get_pool()).await? } else { Vec::new() };
    let about = about(pragmas::read(store.get_pool()).await?, poll(at_once), is_changed);
    let (ended, options) = (Ended::default(), options(poll(at_once)));
    let orchestrations = orchestrations(ended.clone());
    let runtime = Runtime::start_with_options(store.clone(), activities(), orchestrations, options).await;
    Ok((Duroxide { client: Client::new(store), ended, _runtime: runtime, _held: held }, about))
}

/// Takes all connections but one from the pool, for as long as they are kept.
async fn hold(pool: &SqlitePool) -> Result<Vec<PoolConnection<Sqlite>>, sqlx::Error> {
    let mut held = Vec::new();
    for _ in 1..pool.options().get_max_connections() {
        held.push(pool.acquire().await?);
    }
    Ok(held)
}

/// How often a dispatcher looks that has found nothing. With one run there is always one that waits for the other, and
/// the least that there is, not to sleep at all, is the fastest; with many that takes the connection from those at work.
fn poll(at_once: usize) -> Duration {
    if at_once == 1 { Duration::ZERO } else { Duration::from_millis(1) }
}

fn options(poll: Duration) -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_min_poll_interval: poll,
        orchestration_concurrency: 1,
        worker_concurrency: 1,
        ..RuntimeOptions::default()
    }
}

fn about(pragmas: String, poll: Duration, is_changed: bool) -> About {
    let connections = if is_changed { ", all connections but one taken from its pool" } else { "" };
    let settings = format!(
        "one dispatcher each for orchestrations and activities, polled every {poll:?}{connections}, no logs"
    );
    let peer = if is_changed { "duroxide, one connection" } else { "duroxide" };
    About { peer, version: "0.1.32", pragmas, settings }
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder().register("step", |_: ActivityContext, _: String| async { Ok(String::new()) }).build()
}

fn orchestrations(ended: Ended) -> OrchestrationRegistry {
    let run = move |context: OrchestrationContext, _: String| {
        let ended = ended.clone();
        async move {
            for _ in 0..STEPS {
                context.schedule_activity("step", "").await?;
            }
            ended.tell(&context.instance_id());
            Ok(String::new())
        }
    };
    OrchestrationRegistry::builder().register("run", run).build()
}

impl Engine for Duroxide {
    async fn run(&self, nth: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
        let instance = nth.to_string();
        let mut ended = self.ended.watch(&instance);
        self.client.start_orchestration(&instance, "run", "").await?;
        while timeout(LOOK_FOR_FAILURE, &mut ended).await.is_err() {
            self.recorded(&instance).await?;
        }
        while !self.recorded(&instance).await? {
            sleep(LOOK).await;
        }
        Ok(())
    }
}

impl Duroxide {
    /// Whether the run is recorded as completed; an error if it is as failed.
    async fn recorded(&self, instance: &str) -> Result<bool, Box<dyn Error + Send + Sync>> {
        match self.client.get_orchestration_status(instance).await? {
            OrchestrationStatus::Completed { .. } => Ok(true),
            OrchestrationStatus::Failed { details, .. } => Err(details.display_message().into()),
            OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound => Ok(false),
        }
    }
}
