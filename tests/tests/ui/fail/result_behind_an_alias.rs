use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
type Answer = Result<u32, String>;
#[primitive(object)]
impl Cart {
    async fn put(&mut self) -> Answer {
        Ok(1)
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
