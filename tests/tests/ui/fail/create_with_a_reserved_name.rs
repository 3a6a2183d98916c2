use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[create]
    async fn start() -> Self {
        Self
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
