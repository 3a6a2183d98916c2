use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[alarm]
    #[destroy]
    async fn rang(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
