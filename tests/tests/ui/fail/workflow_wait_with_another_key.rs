use drystone::{Event, Flow, workflow};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = (tenant, order))]
struct Paid { tenant: String, order: u64 }

#[derive(Default, Serialize, Deserialize)]
struct Ship;
#[workflow(events(Paid))]
impl Ship {
    async fn run(flow: &Flow<Self>) { flow.wait_for::<Paid>().key("order-9").await; }
}

fn main() {}
