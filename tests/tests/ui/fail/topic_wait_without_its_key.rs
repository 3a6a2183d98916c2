use drystone::{Event, Flow, workflow};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = order)]
struct Paid { order: String }

#[derive(Default, Serialize, Deserialize)]
struct Ship;
#[workflow(events(Paid))]
impl Ship {
    async fn run(flow: &Flow<Self>) { flow.wait_for::<Paid>().await; }
}

fn main() {}
