use drystone::{Client, primitive};
use serde::{Deserialize, Serialize};

#[primitive(semaphore, permits = 2)]
struct Gate;

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {
    async fn enter(&mut self, gate: &Client<Gate>) {
        gate.send(gate.get("a").acquire());
    }
}
fn main() {}
