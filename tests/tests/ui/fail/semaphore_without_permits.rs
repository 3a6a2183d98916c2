use drystone::{Primitives, primitive};

#[primitive(semaphore, lease = "30s")]
struct Gate;

#[derive(Primitives)]
struct App {
    gate: Gate,
}
fn main() {}
