//! The kernel as seen by code that runs beside it: an entity's code, or a guard that is renewed while it is
//! held.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;

use super::call::{KernelPort, Reader};
use crate::{
    Error, Key, Millis, Range, Reply, Row,
    driver::{Handle, Task},
    kernel::{
        Call,
        state::{mail::Mail, shared::Shared},
        threads::{reader::WorkReader, transactions::transact},
    },
    store::sql::{Script, Scripted},
};

/// A weak handle to a kernel, with its calls, clocks and tasks. It does not keep the kernel alive. When the
/// kernel has ended, the clocks return `None` and nothing runs.
#[derive(Clone)]
pub struct WeakKernel(Weak<Shared>);

impl WeakKernel {
    pub(crate) fn new(shared: Weak<Shared>) -> Self {
        Self(shared)
    }

    /// Makes a call and waits for its answer, until the call's deadline.
    pub async fn call(&self, call: Call) -> Result<Bytes, Error> {
        self.0.upgrade().ok_or(Error::Closing)?.call(call).await
    }

    /// Returns the kernel's time, which never goes back (A5); `None` when the kernel has ended.
    pub fn now(&self) -> Option<Millis> {
        self.living().map(|shared| shared.time.now())
    }

    /// Returns monotonic time, which only moves forward; `None` when the kernel has ended.
    pub fn monotonic(&self) -> Option<Duration> {
        self.living().map(|shared| shared.driver.monotonic())
    }

    /// Returns 64 random bits of the driver; `None` when the kernel has ended.
    pub fn random(&self) -> Option<u64> {
        self.living().map(|shared| shared.driver.random())
    }

    /// Waits for `span`. Returns at once when the kernel has ended.
    pub async fn sleep(&self, span: Duration) {
        let sleep = self.living().map(|shared| shared.driver.sleep_until(shared.driver.monotonic() + span));
        if let Some(sleep) = sleep {
            sleep.await;
        }
    }

    /// Asks an entity again which work should run, if the entity is in memory.
    pub fn look_at(&self, key: &Key) {
        if let Some(shared) = self.living() {
            shared.post_resident(key, Mail::Relist);
        }
    }

    /// Starts a task. Dropping the handle drops the task. Returns `None` when the kernel has ended.
    pub fn spawn(&self, task: Task) -> Option<Handle> {
        self.living().map(|shared| shared.driver.spawn(task))
    }

    /// Starts a task without a handle: the task holds its own handle until it ends.
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

impl KernelPort for WeakKernel {
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        let weak_kernel = self.clone();
        Box::pin(async move { weak_kernel.call(call).await })
    }

    fn rows(&self, reader: Reader, range: Range) -> Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send>> {
        let shared = self.0.upgrade();
        Box::pin(async move { WorkReader::new(&*shared.ok_or(Error::Closing)?, &reader).rows(range).await })
    }

    fn weak_kernel(&self) -> WeakKernel {
        self.clone()
    }

    fn transact(&self, from: Key, script: Script) -> Pin<Box<dyn Future<Output = Result<Scripted, Error>> + Send>> {
        let shared = self.0.upgrade();
        Box::pin(async move { transact(shared.ok_or(Error::Closing)?, Some(from), script).await })
    }
}

impl std::fmt::Debug for WeakKernel {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("WeakKernel")
    }
}
