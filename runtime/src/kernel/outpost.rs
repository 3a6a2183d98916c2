//! The kernel as it is seen by what runs beside it: an entity's code, a guard that is renewed while it is held.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;

use super::{
    Call,
    call::{Door, Reader},
    mail::Mail,
    shared::Shared,
};
use crate::{
    Error, Key, Millis, Range, Reply, Row,
    driver::{Handle, Task},
    store::sql::{Script, Scripted},
};

/// Calls, clocks and tasks of a kernel. It does not keep the kernel alive; when that has ended there is no time and
/// nothing runs.
#[derive(Clone)]
pub struct Outpost(Weak<Shared>);

impl Outpost {
    pub(crate) fn new(shared: Weak<Shared>) -> Self {
        Self(shared)
    }

    /// Makes a call and waits for its answer, up to its deadline.
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        self.0.upgrade().ok_or(Error::Closing)?.call(call).await
    }

    /// The kernel's time, which never goes back (A5).
    pub fn now(&self) -> Option<Millis> {
        self.living().map(|shared| shared.time.now())
    }

    /// Time that only moves on.
    pub fn monotonic(&self) -> Option<Duration> {
        self.living().map(|shared| shared.driver.monotonic())
    }

    /// Waits so long.
    pub async fn sleep(&self, span: Duration) {
        let sleep = self.living().map(|shared| shared.driver.sleep_until(shared.driver.monotonic() + span));
        if let Some(sleep) = sleep {
            sleep.await;
        }
    }

    /// Has an entity looked at that is in memory: what should run of it is asked again.
    pub fn look_at(&self, key: &Key) {
        if let Some(shared) = self.living() {
            shared.post_resident(key, Mail::Relist);
        }
    }

    /// Starts a task; dropping the handle drops it.
    pub fn spawn(&self, task: Task) -> Option<Handle> {
        self.living().map(|shared| shared.driver.spawn(task))
    }

    /// Starts a task that nobody waits for: it holds its own handle.
    pub fn detach(&self, task: Task) {
        let own = Arc::new(Mutex::new(None));
        let kept = own.clone();
        let handle = self.spawn(Box::pin(async move {
            task.await;
            drop(kept);
        }));
        *own.lock().unwrap_or_else(PoisonError::into_inner) = handle;
    }

    fn living(&self) -> Option<Arc<Shared>> {
        self.0.upgrade().filter(|shared| !shared.is_closed())
    }
}

impl Door for Outpost {
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        let outpost = self.clone();
        Box::pin(async move { outpost.call(call).await })
    }

    fn rows(&self, reader: Reader, range: Range) -> Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send>> {
        let shared = self.0.upgrade();
        Box::pin(async move { shared.ok_or(Error::Closing)?.rows_for_work(&reader, range).await })
    }

    fn outpost(&self) -> Outpost {
        self.clone()
    }

    fn transact(&self, from: Key, script: Script) -> Pin<Box<dyn Future<Output = Result<Scripted, Error>> + Send>> {
        let shared = self.0.upgrade();
        Box::pin(async move { shared.ok_or(Error::Closing)?.transact(Some(from), script).await })
    }
}

impl std::fmt::Debug for Outpost {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Outpost")
    }
}
