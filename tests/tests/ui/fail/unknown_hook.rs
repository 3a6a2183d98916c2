use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[hook(alarum)]
    async fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
