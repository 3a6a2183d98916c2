//! A wreck: its crates are loaded and then unloaded again by undos, because its last step fails.

use std::time::Duration;

use drystone::{Flow, workflow};
use drystone_runtime::stable_hash;
use serde::{Deserialize, Serialize};

use super::{Op, in_round};
use crate::crash::parts::part::Part;

/// The number of crates that are loaded.
pub(super) const CRATES: u64 = 3;

/// The longest time to unload a crate. Some undos are interrupted by a kill.
const UNLOADING_MS_MAX: u64 = 30;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Wreck;

#[workflow]
impl Wreck {
    async fn run(flow: &Flow<Self>, number: u64) -> Result<(), String> {
        for nth in 0..CRATES {
            flow.load(number * CRATES + nth).await;
        }
        flow.land().await
    }

    #[step(undo = unload)]
    async fn load(id: u64) -> u64 {
        id
    }

    #[step]
    async fn unload(id: u64) {
        Part::Undos.moved();
        let pause = stable_hash(&[&id.to_be_bytes()]) % UNLOADING_MS_MAX;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }

    #[step(max_attempts = 1)]
    async fn land() -> Result<(), String> {
        Err(AGROUND.to_owned())
    }
}

/// The error of a failed wreck.
pub(super) const AGROUND: &str = "it ran aground";

/// The operations in its journal in the end: everything that was done, and everything undone, the last
/// first.
pub(super) fn operations() -> Vec<String> {
    let loaded = (1..=CRATES).map(|nth| format!("load#{nth}"));
    let unloaded = (1..=CRATES).rev().map(|nth| format!("undo/load#{nth}/unload#1"));
    loaded.chain(["land#1".to_owned()]).chain(unloaded).collect()
}

pub(super) fn wreck(op: Op) -> String {
    in_round(&format!("wreck-{}", op.turn()), op.round())
}
