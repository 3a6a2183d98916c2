//! What a handler remembers of an entity: decoded records. Each is kept with the bytes it was read from, so that memory
//! can never be taken for what is stored.

use bytes::Bytes;
use drystone_runtime::Hot;
use serde::de::DeserializeOwned;

use super::head::Head;
use crate::{Primitive, stored::decode_part};

/// The memory of one entity; it may be gone before any turn (E13).
pub(super) struct Memory<T, R> {
    head: Option<(Bytes, Head<R>)>,
    state: Option<(Bytes, T)>,
}

impl<T, R> Default for Memory<T, R> {
    fn default() -> Self {
        Self { head: None, state: None }
    }
}

impl<T: Primitive, R: DeserializeOwned + Clone + Send + 'static> Memory<T, R> {
    /// The memory that lies in `hot`.
    pub(super) fn of(hot: &mut Hot) -> &mut Self {
        if hot.get::<Self>().is_none() {
            hot.set(Self::default());
        }
        hot.get::<Self>().expect("it was just put there")
    }

    /// The head in `bytes`.
    pub(super) fn head(&mut self, bytes: &Bytes) -> Result<&Head<R>, String> {
        if self.head.as_ref().is_none_or(|(known, _)| known != bytes) {
            self.head = Some((bytes.clone(), decode_part("head", bytes)?));
        }
        Ok(&self.head.as_ref().expect("it was just put there").1)
    }

    pub(super) fn set_head(&mut self, bytes: Bytes, head: Head<R>) {
        self.head = Some((bytes, head));
    }

    /// Reads the state in `bytes`, if it is not known; the path and the reason if it cannot be read (E10).
    pub(super) fn check_state(&mut self, bytes: &Bytes) -> Result<(), String> {
        if self.state.as_ref().is_none_or(|(known, _)| known != bytes) {
            self.state = Some((bytes.clone(), T::codec().read_part("state", bytes)?));
        }
        Ok(())
    }

    /// Takes the state in `bytes`.
    pub(super) fn take_state(&mut self, bytes: &Bytes) -> Result<T, String> {
        self.check_state(bytes)?;
        Ok(self.state.take().expect("it was just put there").1)
    }

    pub(super) fn set_state(&mut self, bytes: Bytes, state: T) {
        self.state = Some((bytes, state));
    }
}
