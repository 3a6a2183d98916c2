//! The run that orders start. It takes the event of each of its orders, and as many published events.

use drystone::{Event, Flow, workflow};
use serde::{Deserialize, Serialize};

use super::ORDERS;

/// The event that an order sends to its run. An event without an operation fills the last parcel of a round.
#[derive(Event, Serialize, Deserialize)]
pub(super) struct Arrived(pub(super) Option<u64>);

/// The event that an order publishes, for one run of its round.
#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = round, deliver = "one")]
pub(super) struct Sold {
    pub(super) round: u64,
    pub(super) op: Option<u64>,
}

/// The operations of the events that a run took: of the sent events, and of the published ones.
pub(super) type Taken = (Vec<Option<u64>>, Vec<Option<u64>>);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::crash) struct Parcel;

#[workflow(events(Arrived, Sold))]
impl Parcel {
    async fn run(flow: &Flow<Self>, round: u64) -> Taken {
        let (mut arrived, mut sold) = Taken::default();
        for _ in 0..ORDERS {
            arrived.push(flow.wait_for::<Arrived>().await.0);
            sold.push(flow.wait_for::<Sold>().key(round).await.op);
        }
        (arrived, sold)
    }
}
