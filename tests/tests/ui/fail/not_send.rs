use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn put(&mut self) {
        let count = std::rc::Rc::new(1);
        std::future::ready(()).await;
        drop(count);
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
