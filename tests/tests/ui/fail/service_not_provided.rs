use drystone::{Primitives, Runtime, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
struct Prices;
struct Mail;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, _: &Prices) {}
    async fn get(&mut self, _: &Prices, _: &Mail) {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {
    drop(Runtime::memory().start::<App>());
}
