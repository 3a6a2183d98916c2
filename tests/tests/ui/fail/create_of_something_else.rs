use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    #[create]
    async fn open(_count: u32) -> Result<u32, drystone::Failure> {
        Ok(1)
    }
    #[create]
    async fn reopen() {}
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
