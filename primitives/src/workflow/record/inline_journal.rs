//! Short journals, which lie in the run's record. A run that ends soon, or sleeps or waits early, has no
//! journal rows, and its journal is read together with its record. The entry that makes the journal too
//! long moves all entries to rows, where they stay.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The most bytes that the entries of a short journal may have. Every turn writes the record again with all
/// of these entries. From about this size on, writing them takes longer than writing a row.
const BYTES_MAX: usize = 1_024;

/// The entries of a short journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::workflow) struct Brief(Vec<Box<RawValue>>);

impl Brief {
    pub(in crate::workflow) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::workflow) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The text of the entry with this number.
    pub(in crate::workflow) fn get(&self, number: u64) -> Option<&[u8]> {
        usize::try_from(number).ok().and_then(|number| self.0.get(number)).map(|entry| entry.get().as_bytes())
    }

    /// Adds an entry if there is room for it, and returns whether it was added.
    pub(in crate::workflow) fn add(&mut self, text: &[u8]) -> bool {
        let bytes: usize = self.0.iter().map(|entry| entry.get().len()).sum();
        let entry = (bytes + text.len() <= BYTES_MAX).then(|| crate::decode(text).ok()).flatten();
        let is_added = entry.is_some();
        self.0.extend(entry);
        is_added
    }

    /// Overwrites an entry. Does nothing if no entry has this number.
    pub(in crate::workflow) fn set(&mut self, number: u64, text: &[u8]) {
        let entry = usize::try_from(number).ok().and_then(|number| self.0.get_mut(number));
        if let (Some(entry), Ok(text)) = (entry, crate::decode(text)) {
            *entry = text;
        }
    }

    /// The first `count` entries.
    pub(in crate::workflow) fn kept(&self, count: u64) -> Self {
        Self(self.0.iter().take(usize::try_from(count).unwrap_or(usize::MAX)).cloned().collect())
    }

    /// Takes all entries out, with their numbers.
    pub(in crate::workflow) fn take(&mut self) -> impl Iterator<Item = (u64, Bytes)> + use<> {
        let entries = std::mem::take(&mut self.0).into_iter();
        (0..).zip(entries.map(|entry| Bytes::from(String::from(Box::<str>::from(entry)))))
    }
}

/// The journal entries in the record of a run, as text. The test kit's trace shows them.
pub(crate) fn entries_in(head: &[u8]) -> Vec<String> {
    #[derive(Default, Deserialize)]
    struct Journal {
        #[serde(default)]
        brief: Brief,
    }
    let journal: Journal = serde_json::from_slice(head).unwrap_or_default();
    journal.brief.0.iter().map(|entry| entry.get().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_while_they_are_short_and_all_move_together() {
        let mut brief = Brief::default();
        assert!(brief.add(b"{\"at\":1}") && brief.add(b"{\"at\":2}"));
        let long = format!("\"{}\"", "x".repeat(BYTES_MAX - 17));
        assert!(!brief.add(long.as_bytes()), "one byte too many");
        assert!(brief.clone().add(&long.as_bytes()[1..long.len() - 1].iter().map(|_| b'1').collect::<Vec<_>>()));
        brief.set(1, b"{\"at\":3}");
        assert_eq!((brief.get(1), brief.get(2)), (Some(&b"{\"at\":3}"[..]), None));
        assert_eq!(brief.kept(1).len(), 1);
        let moved: Vec<_> = brief.take().collect();
        assert_eq!(moved, [(0, Bytes::from_static(b"{\"at\":1}")), (1, Bytes::from_static(b"{\"at\":3}"))]);
        assert!(brief.is_empty());
    }
}
