//! Cached JSON for the parts of a record, which is written with every turn although most parts are
//! unchanged.

use std::{
    cell::OnceCell,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error};
use serde_json::value::{RawValue, to_raw_value};

/// From this many parts on, their texts are cached: writing so many parts takes longer than the rest of a
/// turn. The cached texts of fewer parts would only take memory.
const MANY: usize = 16;

/// A value, and the text that was last written for it. A change of the value drops the text.
#[derive(Debug)]
pub(in crate::workflow) struct Written<T> {
    value: T,
    text: OnceCell<Box<RawValue>>,
}

impl<T> From<T> for Written<T> {
    fn from(value: T) -> Self {
        Self { value, text: OnceCell::new() }
    }
}

impl<T: Clone> Clone for Written<T> {
    fn clone(&self) -> Self {
        self.value.clone().into()
    }
}

impl<T> Deref for Written<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Written<T> {
    /// Drops the text, because the caller may change the value.
    fn deref_mut(&mut self) -> &mut T {
        self.text.take();
        &mut self.value
    }
}

impl<T: Serialize> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.text.get() {
            return text.serialize(out);
        }
        let text = to_raw_value(&self.value).map_err(S::Error::custom)?;
        self.text.get_or_init(|| text).serialize(out)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self::from)
    }
}

/// Writes parts, and caches their texts if there are many.
pub(in crate::workflow) fn parts<T: Serialize, S: Serializer>(parts: &[Written<T>], out: S) -> Result<S::Ok, S::Error> {
    if parts.len() < MANY { out.collect_seq(parts.iter().map(|part| &part.value)) } else { out.collect_seq(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Whole(#[serde(serialize_with = "parts")] Vec<Written<u64>>);

    #[test]
    fn what_was_changed_is_written_anew() {
        let mut whole = Whole((0..MANY as u64).map(Written::from).collect());
        let before = crate::encode(&whole).unwrap();
        assert_eq!(crate::encode(&whole).unwrap(), before);
        *whole.0[3] = 77;
        whole.0.remove(0);
        whole.0.push(99.into());
        let after: Vec<u64> = crate::decode(&crate::encode(&whole).unwrap()).unwrap();
        assert_eq!(after, [1, 2, 77, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 99]);
    }

    #[test]
    fn few_parts_are_written_as_many_are() {
        let whole = Whole([1, 2].map(Written::from).into());
        assert_eq!(crate::encode(&whole).unwrap(), "[1,2]");
        assert!(whole.0.iter().all(|part| part.text.get().is_none()));
        let many = Whole((1..40).map(Written::from).collect());
        assert!(crate::encode(&many).unwrap().starts_with(b"[1,2,"));
    }
}
