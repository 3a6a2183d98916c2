//! Names and keys: the address of an entity. Names and keys have a maximum length, so that every store can
//! index them.

use std::{
    borrow::{Borrow, Cow},
    fmt, hash,
    ops::Deref,
    sync::Arc,
};

use bytes::Bytes;

use crate::{Error, Limit};

/// The maximum length of a key, in bytes (K3).
pub const fn key_bytes_max() -> usize {
    512
}

/// The maximum length of the name of a space, kind, definition, verb, lane or status, in bytes.
pub const fn name_bytes_max() -> usize {
    128
}

/// A short text that names a thing: a space, a kind, a definition, a verb, a lane, a status.
///
/// Most names are string literals in code: they are `'static`, and cost nothing to make or to clone.
#[derive(Clone)]
pub struct Name(Text);

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
}

impl Name {
    /// Makes a name from a text known at compile time.
    pub const fn new(text: &'static str) -> Self {
        Self(Text::Static(text))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            Text::Shared(text) => text,
        }
    }

    /// Returns an error if the name is empty or longer than [`name_bytes_max`].
    pub fn checked(self) -> Result<Self, Error> {
        match self.len() {
            0 => Err(Error::TooLarge { what: Limit::EmptyName, found: 0, limit: name_bytes_max() }),
            found if found > name_bytes_max() => {
                Err(Error::TooLarge { what: Limit::NameBytes, found, limit: name_bytes_max() })
            }
            _ => Ok(self),
        }
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

impl From<Cow<'static, str>> for Name {
    fn from(text: Cow<'static, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::new(text),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Text::Shared(text.into()))
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

// `Borrow<str>` requires that equality, order and hash are those of the text, so these impls are written by
// hand.
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl hash::Hash for Name {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

/// The address of one entity: a key within a space.
///
/// The key may hold any bytes. No data of one key ever reaches another key (V10).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The space: one for the whole app, or one per primitive. Names that begin with `drystone` are reserved
    /// for Drystone.
    pub space: Name,
    /// The key within that space.
    pub key: Bytes,
}

impl Key {
    /// Makes a key. Returns an error if it is not 1 to 512 bytes long (K3) or if the space is no valid name.
    pub fn new(space: impl Into<Name>, key: impl Into<Bytes>) -> Result<Self, Error> {
        let (space, key) = (space.into().checked()?, key.into());
        if key.is_empty() || key.len() > key_bytes_max() {
            return Err(Error::TooLarge { what: Limit::KeyBytes, found: key.len(), limit: key_bytes_max() });
        }
        Ok(Self { space, key })
    }

    /// Returns the partition of the key. The partition never changes: the number of partitions is fixed when
    /// the store is made.
    pub fn partition(&self, partitions: u32) -> Partition {
        Partition((stable_hash(&[self.space.as_bytes(), &self.key]) % u64::from(partitions.max(1))) as u32)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for Key {
    /// Writes `space/key`; every byte of the key that is not printable ASCII is escaped.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.space, self.key.escape_ascii())
    }
}

/// A part of the key space; a worker leases whole partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u32);

/// A hash that is the same on every machine and in every version: FNV-1a over the parts, each followed by its
/// length, then mixed.
///
/// Stored data depends on it (partitions and fingerprints), so it must never change.
pub fn stable_hash(parts: &[&[u8]]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for part in parts {
        part.iter().copied().for_each(&mut eat);
        (part.len() as u64).to_le_bytes().into_iter().for_each(&mut eat);
    }
    // FNV's low bits are weak for short inputs; a multiply-shift mixes the high bits into them.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K3
    #[test]
    fn keys_are_one_to_512_bytes_of_anything() {
        assert!(Key::new("app", vec![0u8; 512]).is_ok());
        assert!(Key::new("app", "\u{202e}'; DROP TABLE\0\r\n").is_ok());
        assert!(matches!(Key::new("app", vec![0u8; 513]), Err(Error::TooLarge { found: 513, .. })));
        assert!(matches!(Key::new("app", ""), Err(Error::TooLarge { found: 0, .. })));
        assert!(matches!(Key::new("x".repeat(129), "k"), Err(Error::TooLarge { found: 129, .. })));
    }

    /// V10
    #[test]
    fn the_border_between_space_and_key_cannot_be_moved() {
        assert_ne!(stable_hash(&[b"ab", b"c"]), stable_hash(&[b"a", b"bc"]));
    }

    #[test]
    fn the_hash_is_the_one_that_stores_hold() {
        assert_eq!(stable_hash(&[b"app", b"user-123"]), 17_118_563_165_314_731_433);
    }
}
