use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
struct Prices;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, _prices: Option<&Prices>) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
