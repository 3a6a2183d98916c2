use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(topic, name = "a/b", deliver = "some", from = "end", max_pending = 0)]
struct Paid(u32);

fn main() {}
