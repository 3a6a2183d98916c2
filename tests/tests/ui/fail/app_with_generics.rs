use drystone::Primitives;

#[derive(Primitives)]
struct App<T> {
    cart: T,
}
fn main() {}
