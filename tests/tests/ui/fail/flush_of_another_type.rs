use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn flush_all(&mut self, batch: Vec<u32>) -> Result<(), String> {
        drop(batch);
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
