use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[destroy]
    async fn end(&self, _why: String) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
