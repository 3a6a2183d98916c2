use drystone::Primitives;

#[derive(Primitives)]
struct App {
    count: u32,
}
fn main() {}
