//! Calls that are repeated until they are answered.

use anyhow::Result;
use drystone::{Call, CallError};

/// Repeats a call until it is answered. The idempotency key makes the repeats safe.
pub(in crate::crash) async fn answered<T, E>(call: impl Fn() -> Call<T, E>) -> Result<T, CallError<E>> {
    loop {
        match call().await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
}
