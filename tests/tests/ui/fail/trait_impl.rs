use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
trait Shop {
    async fn put(&mut self);
}

#[primitive(object)]
impl Shop for Cart {
    async fn put(&mut self) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
