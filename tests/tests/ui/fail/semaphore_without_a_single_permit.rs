use drystone::{Primitives, primitive};

#[primitive(semaphore, permits = 0)]
struct Gate;

#[primitive(semaphore, permits = NONE)]
struct Wall;

const NONE: u64 = 0;

#[derive(Primitives)]
struct App {
    gate: Gate,
    wall: Wall,
}
fn main() {}
