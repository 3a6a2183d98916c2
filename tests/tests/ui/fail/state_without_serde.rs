use drystone::{Primitives, primitive};

struct Cart;
#[primitive(object)]
impl Cart {
    async fn put(&mut self) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
