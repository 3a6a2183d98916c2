use drystone::{Client, Primitives, Runtime, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[derive(Default, Serialize, Deserialize)]
struct Order;
#[primitive(object)]
impl Order {}
#[primitive(object)]
impl Cart {
    async fn put(&mut self, _: &Client<Order>) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {
    drop(Runtime::memory().start::<App>());
}
