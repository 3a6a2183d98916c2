//! What a handler remembers of an entity: decoded records. Each is kept with the bytes it was read from, so that memory
//! can never be taken for what is stored.

use bytes::Bytes;
use drystone_runtime::{Hot, Work};
use serde::de::DeserializeOwned;

use super::head::Head;
use crate::{Primitive, kind::Piece, stored::decode_part};

/// Work that was listed before: the same piece and attempt is the same work, and need not be written out again.
#[derive(Default)]
pub(super) struct Works(Vec<Work>);

impl Works {
    /// The work of these pieces. Kinds list what goes on in the order in which it began, so that what is known is met in
    /// one walk.
    pub(super) fn of(&mut self, pieces: impl Iterator<Item = Piece>, make: impl Fn(Piece) -> Work) -> Vec<Work> {
        let (known, mut from) = (std::mem::take(&mut self.0), 0);
        let listed = pieces.map(|piece| {
            let is_it = |work: &Work| work.attempt == piece.attempt && piece.is_named(work.id.as_str());
            match known[from..].iter().position(is_it) {
                Some(index) => {
                    from += index + 1;
                    known[from - 1].clone()
                }
                None => make(piece),
            }
        });
        self.0 = listed.collect();
        self.0.clone()
    }
}

/// The memory of one entity; it may be gone before any turn (E13).
pub(super) struct Memory<T, R> {
    head: Option<(Bytes, Head<R>)>,
    state: Option<(Bytes, T)>,
    works: Works,
}

impl<T, R> Default for Memory<T, R> {
    fn default() -> Self {
        Self { head: None, state: None, works: Works::default() }
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

    /// The head in `bytes`, and the work that was listed before.
    pub(super) fn listing(&mut self, bytes: &Bytes) -> Result<(&Head<R>, &mut Works), String> {
        self.head(bytes)?;
        let head = &self.head.as_ref().expect("it was just put there").1;
        Ok((head, &mut self.works))
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
