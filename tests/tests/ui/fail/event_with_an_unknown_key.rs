use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(key = order)]
struct Approved {
    order_id: u64,
    orders: u64,
}
#[derive(Event, Serialize, Deserialize)]
#[event(key = id)]
enum Rejected {
    Late,
}
fn main() {}
