use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(key = (tenant, ordr))]
struct Unknown { tenant: String, order: u64 }

#[derive(Event, Serialize, Deserialize)]
#[event(key = ())]
struct Empty { order: u64 }

#[derive(Event, Serialize, Deserialize)]
#[event(key = (order, order))]
struct Twice { order: u64 }
fn main() {}
