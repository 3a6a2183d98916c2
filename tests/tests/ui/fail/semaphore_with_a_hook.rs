use drystone::{Never, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Gate;

#[primitive(semaphore, permits = 2)]
impl Gate {
    #[tick]
    async fn swing(&mut self) -> Result<(), Never> {
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    gate: Gate,
}
fn main() {}
