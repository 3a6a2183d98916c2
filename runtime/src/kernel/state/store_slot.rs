//! The store of a kernel, until the kernel ends.
//!
//! Clients, permits and call futures keep the kernel's memory alive, perhaps long after its end. They must
//! not keep the file open. So the kernel gives the store up at its end, and the store closes with the last
//! call in flight.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    kernel::util::latch::Latch,
    store::{Store, StoreError, StoreErrorKind},
};

pub(crate) struct StoreSlot {
    store: Mutex<Option<Arc<InUse>>>,
    is_closed: Arc<Latch>,
}

/// The store, for as long as a call uses it.
pub(crate) struct InUse {
    /// `None` only during the drop.
    store: Option<Arc<dyn Store>>,
    is_closed: Arc<Latch>,
}

impl StoreSlot {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let is_closed = Arc::new(Latch::default());
        let in_use = InUse { store: Some(store), is_closed: is_closed.clone() };
        Self { store: Mutex::new(Some(Arc::new(in_use))), is_closed }
    }

    /// Returns the store for one call, or an error once the kernel has ended.
    pub(crate) fn get(&self) -> Result<Arc<InUse>, StoreError> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).clone();
        store.ok_or_else(|| StoreError::new(StoreErrorKind::Unavailable, "the runtime has ended"))
    }

    /// Gives the store up. The store closes here if no call is in flight.
    pub(crate) fn give_up(&self) {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(store);
    }

    /// Waits until the kernel has released its store.
    pub(crate) async fn closed(&self) {
        self.is_closed.wait().await;
    }
}

impl Deref for InUse {
    type Target = dyn Store;

    fn deref(&self) -> &Self::Target {
        &**self.store.as_ref().expect("the store is there until this is dropped")
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        drop(self.store.take());
        self.is_closed.set();
    }
}
