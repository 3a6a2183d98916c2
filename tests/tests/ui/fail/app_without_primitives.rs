use drystone::Primitives;

#[derive(Primitives)]
struct App {}
fn main() {}
