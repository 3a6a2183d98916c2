//! Many concurrent callers: they start very many runs, and wait for their results.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use anyhow::Result;
use tokio::{sync::Semaphore, task::JoinSet};

/// The number of concurrent callers: as many as one commit takes.
const CALLERS: usize = 512;

/// The pause of a caller that was refused because of overload.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes a call for each number below `count`.
pub(in crate::load) async fn each<F>(count: u64, call: impl Fn(u64) -> F + Clone + Send + 'static) -> Result<()>
where
    F: Future<Output = Result<()>> + Send,
{
    each_by(CALLERS, count, call).await
}

/// Does the same with this many concurrent callers.
pub(in crate::load) async fn each_by<F>(
    callers_at_once: usize,
    count: u64,
    call: impl Fn(u64) -> F + Clone + Send + 'static,
) -> Result<()>
where
    F: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..callers_at_once {
        let (next, call) = (next.clone(), call.clone());
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                let call = call.clone();
                patiently(move || call(number)).await?;
            }
        });
    }
    callers.join_all().await.into_iter().collect()
}

/// Repeats a call while it is refused because of overload, as callers should (R8).
pub(in crate::load) async fn patiently<T, F>(call: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    loop {
        match call().await {
            Err(error) if is_overloaded(&error) => tokio::time::sleep(PAUSE).await,
            outcome => return outcome,
        }
    }
}

fn is_overloaded(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<drystone::Error>());
    causes.any(|cause| matches!(cause, drystone::Error::Overloaded { .. }))
}

/// Lets a caller wait for each of these results. Returns when all callers have asked, so that their
/// questions do not delay the calls that are measured next.
pub(in crate::load) async fn seated<F>(results: Vec<F>) -> Result<JoinSet<Result<()>>>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (asked, count) = (Arc::new(Semaphore::new(0)), results.len());
    let mut waiting = JoinSet::new();
    for result in results {
        waiting.spawn(seat(result, asked.clone()));
    }
    asked.acquire_many(u32::try_from(count)?).await?.forget();
    Ok(waiting)
}

async fn seat(result: impl Future<Output = Result<()>>, asked: Arc<Semaphore>) -> Result<()> {
    let mut result = pin!(result);
    let first = poll_fn(|context| Poll::Ready(result.as_mut().poll(context))).await;
    asked.add_permits(1);
    match first {
        Poll::Ready(result) => result,
        Poll::Pending => result.await,
    }
}

/// Waits until all callers have their results.
pub(in crate::load) async fn served(mut waiting: JoinSet<Result<()>>) -> Result<()> {
    while let Some(result) = waiting.join_next().await {
        result??;
    }
    Ok(())
}
