use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(topic, keep = "latest")]
struct Price(u64);

#[derive(Event, Serialize, Deserialize)]
#[event(topic, keep = "all")]
struct Paid(u64);
fn main() {}
