//! A convoy: a parent run whose boats are child runs. Each boat is entered once in the book of a harbour.

use std::time::Duration;

use drystone::{Client, Flow, RunError, join_all, primitive, workflow};
use drystone_runtime::stable_hash;
use serde::{Deserialize, Serialize};

use super::{Op, in_round};
use crate::crash::parts::part::Part;

/// The number of boats in a convoy.
pub(super) const BOATS: u64 = 3;

/// The number of harbours in a round.
const HARBOURS: u64 = 3;

/// The longest time that a boat is at sea.
const AT_SEA_MS_MAX: u64 = 40;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Convoy;

#[workflow]
impl Convoy {
    async fn run(flow: &Flow<Self>, number: u64, boats: &Client<Boat>) -> Result<Vec<u64>, RunError<String>> {
        let boat = |nth| flow.child(boats.get(format!("boat-{nth}")).execute(number * BOATS + nth));
        join_all((0..BOATS).map(boat)).await.into_iter().collect()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Boat;

#[workflow]
impl Boat {
    async fn run(flow: &Flow<Self>, id: u64, harbours: &Client<Harbour>) -> Result<u64, String> {
        let harbour = harbours.get(harbour(id));
        flow.sleep(Duration::from_millis(stable_hash(&[&id.to_be_bytes()]) % AT_SEA_MS_MAX)).await;
        flow.land().await;
        Ok(flow.call(harbour.enter(id)).await)
    }

    #[step]
    async fn land() {
        Part::Children.moved();
        tokio::time::sleep(LANDING).await;
    }
}

/// Long enough that some boat is landing at most kills.
const LANDING: Duration = Duration::from_millis(15);

/// The numbers of a convoy's boats.
pub(super) fn boats(op: Op) -> Vec<u64> {
    (op.0 * BOATS..(op.0 + 1) * BOATS).collect()
}

pub(super) fn convoy(op: Op) -> String {
    in_round(&format!("convoy-{}", op.turn()), op.round())
}

/// The harbour in which a boat is entered.
fn harbour(boat: u64) -> String {
    in_round(&format!("harbour-{}", boat % HARBOURS), Op(boat / BOATS).round())
}

/// The harbours of a round.
pub(in crate::crash) fn harbours(round: u64) -> impl Iterator<Item = String> {
    (0..HARBOURS).map(move |number| in_round(&format!("harbour-{number}"), round))
}

/// A harbour: the boats that came, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Harbour {
    pub(super) entered: Vec<u64>,
}

#[primitive(object)]
impl Harbour {
    async fn enter(&mut self, id: u64) -> u64 {
        self.entered.push(id);
        id
    }
}
