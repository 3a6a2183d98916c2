use drystone::{Context, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, _cx: Context) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
