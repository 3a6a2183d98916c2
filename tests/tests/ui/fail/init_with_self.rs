use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[init]
    async fn init(&self) -> Self {
        Self
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
