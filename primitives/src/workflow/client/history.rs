//! The recorded history of a run: shown, saved and replayed.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::workflow::replay::{journal::Entry, op_id::OpId};

/// Everything that is recorded of a run. [`history`](crate::workflow::Verbs::history) returns it, and
/// [`testing::replay`](crate::testing::replay) runs it against today's code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct History {
    /// The workflow's name in its app.
    pub workflow: String,
    /// The key of the run.
    pub key: Vec<u8>,
    /// The seed of the run's random values.
    pub(in crate::workflow) seed: u64,
    pub(in crate::workflow) entries: Vec<Entry>,
    /// The versions of its code that the run is pinned to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(in crate::workflow) versions: BTreeMap<String, u32>,
    /// The operations that the body waited for after the last entry, with the hash of each request. `None`
    /// if the body was gone, or was stopped before all entries were delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::workflow) pending: Option<Waits>,
}

/// Operations, with the hash of each request.
pub(in crate::workflow) type Waits = Vec<(OpId, u64)>;

/// A page of a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::workflow) struct HistoryPage {
    pub(in crate::workflow) workflow: String,
    pub(in crate::workflow) key: Vec<u8>,
    pub(in crate::workflow) seed: u64,
    pub(in crate::workflow) entries: Vec<Entry>,
    pub(in crate::workflow) is_last: bool,
    pub(in crate::workflow) generation: u32,
    pub(in crate::workflow) versions: BTreeMap<String, u32>,
    /// Only on the last page.
    pub(in crate::workflow) pending: Option<Waits>,
}

impl HistoryPage {
    pub(in crate::workflow) fn is_last(&self) -> bool {
        self.is_last
    }

    /// The seed and the generation, which tell this run and generation from others.
    pub(in crate::workflow) fn of(&self) -> (u64, u32) {
        (self.seed, self.generation)
    }

    /// The history that this page belongs to, without entries.
    pub(in crate::workflow) fn history(&self) -> History {
        History {
            workflow: self.workflow.clone(),
            key: self.key.clone(),
            seed: self.seed,
            entries: Vec::new(),
            versions: self.versions.clone(),
            pending: None,
        }
    }
}

impl History {
    pub(in crate::workflow) fn entries_count(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(in crate::workflow) fn extend(&mut self, page: HistoryPage) {
        self.entries.extend(page.entries);
        self.pending = page.pending;
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The operations in the order in which they ended: `charge#1`, `wait:Approved#1`.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(Entry::op_text).filter(|op| !op.is_empty())
    }

    /// Writes the history as JSON, one entry per line, so that a diff shows a changed entry.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let entries: Result<Vec<String>, _> = self.entries.iter().map(serde_json::to_string).collect();
        let (workflow, key) = (serde_json::to_string(&self.workflow)?, serde_json::to_string(&self.key)?);
        let (entries, seed) = (entries?.join(",\n"), self.seed);
        let versions = match self.versions.is_empty() {
            true => String::new(),
            false => format!("\"versions\":{},", serde_json::to_string(&self.versions)?),
        };
        let pending = match &self.pending {
            Some(pending) => format!("\"pending\":{},", serde_json::to_string(pending)?),
            None => String::new(),
        };
        let head = format!("\"workflow\":{workflow},\"key\":{key},\"seed\":{seed},{versions}{pending}");
        Ok(format!("{{{head}\"entries\":[\n{entries}\n]}}\n"))
    }

    /// Reads the JSON that [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Writes the history to a file.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_json()?)
    }

    /// Reads a history from a file.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::from_json(&fs::read_to_string(path)?)?)
    }
}
