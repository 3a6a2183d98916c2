use drystone::{Primitives, primitive};

#[primitive(semaphore, permits = 2)]
struct Gate {
    name: String,
}

#[derive(Primitives)]
struct App {
    gate: Gate,
}
fn main() {}
