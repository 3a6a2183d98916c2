use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cart;
struct Full;
#[primitive(object)]
impl Cart {
    #[create]
    async fn open() -> Result<Self, Full> {
        Err(Full)
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
