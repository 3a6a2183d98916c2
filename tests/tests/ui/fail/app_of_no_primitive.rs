use drystone::Primitives;

struct Count;

#[derive(Primitives)]
struct App {
    count: Count,
}
fn main() {}
