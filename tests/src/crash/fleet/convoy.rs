//! A convoy: a parent whose boats are children, each of which is entered in the book of a harbour, once.

use std::time::Duration;

use drystone::{Client, Flow, RunError, join_all, primitive, workflow};
use drystone_runtime::stable_hash;
use serde::{Deserialize, Serialize};

/// How many boats a convoy has.
pub(super) const BOATS: u64 = 5;

/// How many harbours there are.
pub(super) const HARBOURS: u64 = 3;

/// No boat is at sea for longer.
const AT_SEA_MS_MAX: u64 = 150;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Convoy;

#[workflow]
impl Convoy {
    async fn run(flow: &Flow<Self>, number: u64, boats: &Client<Boat>) -> Result<Vec<u64>, RunError<String>> {
        let boat = |nth| flow.child(boats.get(format!("boat-{nth}")).execute(number * BOATS + nth));
        join_all((0..BOATS).map(boat)).await.into_iter().collect()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Boat;

#[workflow]
impl Boat {
    async fn run(flow: &Flow<Self>, id: u64, harbours: &Client<Harbour>) -> Result<u64, String> {
        let harbour = harbours.get(harbour(id % HARBOURS));
        flow.sleep(Duration::from_millis(stable_hash(&[&id.to_be_bytes()]) % AT_SEA_MS_MAX)).await;
        Ok(flow.call(harbour.enter(id)).await)
    }
}

pub(super) fn harbour(number: u64) -> String {
    format!("harbour-{number}")
}

/// Who has come, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Harbour {
    pub(super) entered: Vec<u64>,
}

#[primitive(object)]
impl Harbour {
    async fn enter(&mut self, id: u64) -> u64 {
        self.entered.push(id);
        id
    }
}
