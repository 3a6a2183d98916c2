use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(keeps = "latest", expires = "7 dayz", on_terminated = "publish", max_queued = 0)]
struct Approved;

#[derive(Event, Serialize, Deserialize)]
#[event(name = 7)]
struct Rejected;
fn main() {}
