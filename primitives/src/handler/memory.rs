//! The memory of an entity: decoded records. Each is kept with the bytes that it was decoded from, so that
//! memory can never be taken for what is stored.

use std::collections::BTreeMap;

use bytes::Bytes;
use drystone_runtime::{Commit, Hot, Lane, Row, RowKey, Work};
use serde::de::DeserializeOwned;

use super::head::Head;
use crate::{
    OfKind,
    kind::Piece,
    values::stored::{decode_part, is_same},
};

/// Work that was listed before. The same piece and attempt is the same work, and need not be encoded again.
#[derive(Default)]
pub(super) struct Works(Vec<Work>);

impl Works {
    /// Returns the work of these pieces. Kinds list work in the order in which it began, so one walk through
    /// the known work finds all of it.
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

/// Rows that work will soon need, kept so that they need not be read: a limited number, and no long rows.
///
/// A turn without a commit is forgotten together with everything in memory. So a row here is stored, or will
/// be stored before the work that needs it starts.
#[derive(Default)]
pub(super) struct Kept {
    rows: BTreeMap<(Lane, RowKey), Bytes>,
    bytes: usize,
}

const ROW_BYTES_MAX: usize = 4 << 10;
const KEPT_BYTES_MAX: usize = 256 << 10;

impl Kept {
    fn take_in(&mut self, commit: &Commit, needed: Vec<Row>) {
        if !self.rows.is_empty() {
            commit.remove.iter().for_each(|row| self.forget(row));
            commit.put.iter().for_each(|row| self.forget(&(row.lane.clone(), row.key.clone())));
        }
        for Row { lane, key, body } in needed {
            if body.len() <= ROW_BYTES_MAX && self.bytes + body.len() <= KEPT_BYTES_MAX {
                self.bytes += body.len();
                let before = self.rows.insert((lane, key), body);
                self.bytes -= before.map_or(0, |before| before.len());
            }
        }
    }

    fn forget(&mut self, row: &(Lane, RowKey)) {
        self.bytes -= self.rows.remove(row).map_or(0, |body| body.len());
    }

    /// Returns the only row that a piece needs, if the row is kept.
    pub(super) fn of(&self, piece: &Piece) -> Option<&Bytes> {
        let items = piece.items.as_ref().filter(|items| items.of.is_none())?;
        let key = Bytes::copy_from_slice(items.row.as_ref()?);
        self.rows.get(&(Lane::from(items.lane.clone()), key))
    }
}

/// The memory of one entity, which may be dropped before any turn (E13).
pub(super) struct Memory<T, R> {
    head: Option<(Bytes, Head<R>)>,
    state: Option<(Bytes, T)>,
    works: Works,
    rows: Kept,
}

impl<T, R> Default for Memory<T, R> {
    fn default() -> Self {
        Self { head: None, state: None, works: Works::default(), rows: Kept::default() }
    }
}

impl<T: OfKind, R: DeserializeOwned + Clone + Send + 'static> Memory<T, R> {
    /// Returns the memory in `hot`, and creates the memory if `hot` is empty.
    pub(super) fn of(hot: &mut Hot) -> &mut Self {
        if hot.get::<Self>().is_none() {
            hot.set(Self::default());
        }
        hot.get::<Self>().expect("it was just put there")
    }

    /// Returns the head in `bytes`.
    pub(super) fn head(&mut self, bytes: &Bytes) -> Result<&Head<R>, String> {
        if self.head.as_ref().is_none_or(|(known, _)| !is_same(known, bytes)) {
            self.head = Some((bytes.clone(), decode_part("head", bytes)?));
        }
        Ok(&self.head.as_ref().expect("it was just put there").1)
    }

    /// Takes the head in `bytes` out of the memory. The turn that changes the head puts it back. After a
    /// turn without a commit, the head is decoded again.
    pub(super) fn take_head(&mut self, bytes: &Bytes) -> Result<Head<R>, String> {
        self.head(bytes)?;
        Ok(self.head.take().expect("it was just put there").1)
    }

    /// Returns the head in `bytes`, the work that was listed before, and the kept rows.
    pub(super) fn listing(&mut self, bytes: &Bytes) -> Result<(&Head<R>, &mut Works, &Kept), String> {
        self.head(bytes)?;
        let head = &self.head.as_ref().expect("it was just put there").1;
        Ok((head, &mut self.works, &self.rows))
    }

    /// Updates the kept rows after a turn, and adds the rows that the turn says are needed soon.
    pub(super) fn keep_rows(&mut self, commit: &Commit, needed: Vec<Row>) {
        self.rows.take_in(commit, needed);
    }

    pub(super) fn set_head(&mut self, bytes: Bytes, head: Head<R>) {
        self.head = Some((bytes, head));
    }

    /// Decodes the state in `bytes`, if it is not in memory. The error is the path and the reason (E10).
    pub(super) fn check_state(&mut self, bytes: &Bytes) -> Result<(), String> {
        if self.state.as_ref().is_none_or(|(known, _)| !is_same(known, bytes)) {
            self.state = Some((bytes.clone(), T::codec().read_part("state", bytes)?));
        }
        Ok(())
    }

    /// Takes the state in `bytes` out of the memory.
    pub(super) fn take_state(&mut self, bytes: &Bytes) -> Result<T, String> {
        self.check_state(bytes)?;
        Ok(self.state.take().expect("it was just put there").1)
    }

    pub(super) fn set_state(&mut self, bytes: Bytes, state: T) {
        self.state = Some((bytes, state));
    }
}
