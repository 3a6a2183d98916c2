use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(continuous, every = "1m")]
impl Cart {
    #[tick]
    async fn tick(&self) -> Result<u32, String> {
        Ok(1)
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
