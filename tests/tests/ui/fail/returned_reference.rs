use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn item(&self) -> &str {
        "apple"
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
