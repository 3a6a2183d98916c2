use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Gate;

#[primitive(semaphore, permits = 2)]
impl Gate {
    async fn acquire(&mut self) {}
}

#[derive(Primitives)]
struct App {
    gate: Gate,
}
fn main() {}
