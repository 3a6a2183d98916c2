use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(name = "a", name = "b")]
struct Approved;

#[derive(Event, Serialize, Deserialize)]
#[event(topic, key = order, key = order)]
struct Paid {
    order: String,
}
fn main() {}
