use drystone::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
struct Approved<T> {
    by: T,
}
fn main() {}
