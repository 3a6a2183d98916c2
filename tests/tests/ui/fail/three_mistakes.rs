use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object, max_attempts = 0)]
impl Cart {
    async fn put(&mut self, item: &str) {
        drop(item);
    }
    async fn state(&self) -> u32 {
        1
    }
}

fn call(client: &AppClient) {
    drop(client.cart("a").start_with(Cart));
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
