use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(deliver = "one", keep_for = "1d", on_terminated = "publish")]
struct Paid(u32);

fn main() {}
