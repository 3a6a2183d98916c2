//! Many callers who start very many runs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::Result;
use tokio::task::JoinSet;

/// At once: what one commit takes of them.
const CALLERS: usize = 512;

/// Makes a call for each number up to this.
pub(in crate::load) async fn each<F>(count: u64, call: impl Fn(u64) -> F + Clone + Send + 'static) -> Result<()>
where
    F: Future<Output = Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (next, call) = (next.clone(), call.clone());
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                call(number).await?;
            }
        });
    }
    callers.join_all().await.into_iter().collect()
}
