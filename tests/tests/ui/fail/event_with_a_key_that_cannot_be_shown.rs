use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(key = ids)]
struct Approved {
    ids: Vec<u64>,
}
fn main() {}
