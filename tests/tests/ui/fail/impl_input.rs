use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, _item: impl Into<String>) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
