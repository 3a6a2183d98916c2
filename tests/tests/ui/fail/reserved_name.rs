use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn state(&self) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
