use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
struct Odd;
#[primitive(continuous, every = "1m")]
impl Cart {
    #[tick]
    async fn tick(&mut self) -> Result<(), Odd> {
        Err(Odd)
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
