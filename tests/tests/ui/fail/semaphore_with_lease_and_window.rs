use drystone::{Primitives, primitive};

#[primitive(semaphore, permits = 2, lease = "30s", window = "1s")]
struct Gate;

#[derive(Primitives)]
struct App {
    gate: Gate,
}
fn main() {}
