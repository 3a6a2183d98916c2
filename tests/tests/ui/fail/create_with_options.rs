use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[create(once)]
    async fn open() -> Self {
        Self
    }
    #[alarm = 5]
    async fn rang(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
