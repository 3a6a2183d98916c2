use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[create]
    fn open(_count: u32) -> Self {
        Self
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
