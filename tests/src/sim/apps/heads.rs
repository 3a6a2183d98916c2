//! Parts of the stored records of kinds, as far as the checks need them.

use drystone::{Timestamp, kinds::continuous::Standing};
use drystone_runtime::Entity;
use serde::{Deserialize, de::DeserializeOwned};

use super::Sum;

/// The stored part of an entity beside the author's struct.
#[derive(Deserialize)]
struct Head<R> {
    record: R,
}

/// The record of a continuous entity.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Ticking {
    pub standing: Standing,
    pub base: Timestamp,
    #[serde(default)]
    pub stands_for: Option<Timestamp>,
    pub ticks: u64,
    pub attempts: u32,
    pub again: bool,
    pub runs: u64,
    pub failures: u32,
}

/// The record of a buffer.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Buffering {
    #[serde(default)]
    pub open: Open,
    pub closed: Vec<Closed>,
    pub flushed: Count,
}

/// The open batch, to which items are added.
#[derive(Clone, Debug, Default, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Open {
    pub number: u64,
    pub count: u64,
    #[serde(default)]
    pub folded: Option<Sum>,
}

/// A closed batch. It waits for a flush.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Closed {
    pub number: u64,
    pub count: u64,
    #[serde(default)]
    pub held: Option<Held>,
}

/// A reference to items that stay in the lane of a buffer.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Held {
    pub of: u64,
    pub lane: String,
}

/// The numbers of batches and of their items.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Count {
    pub batches: u64,
    pub items: u64,
}

/// The record of a semaphore.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Gating {
    pub used: u64,
    pub waiting: u64,
    pub epoch: u32,
}

/// A stored permit.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as the kind names them")]
pub struct Permit {
    pub weight: u64,
    pub until: Timestamp,
}

/// A stored dead letter, with the place of its items.
#[derive(Clone, Debug, Deserialize)]
#[expect(missing_docs, reason = "as it is stored")]
pub struct Letter {
    pub count: u64,
    pub batch: Option<Held>,
}

/// Decodes the record of an entity.
pub fn record<R: DeserializeOwned>(head: &[u8]) -> Option<R> {
    serde_json::from_slice::<Head<R>>(head).ok().map(|head| head.record)
}

/// Decodes the author's struct.
pub fn state<S: DeserializeOwned + Default>(entity: &Entity) -> S {
    serde_json::from_slice(&entity.state).unwrap_or_default()
}
