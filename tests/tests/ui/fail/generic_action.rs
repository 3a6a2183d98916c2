use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn put<T: Into<String>>(&mut self, item: T) {
        drop(item.into());
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
