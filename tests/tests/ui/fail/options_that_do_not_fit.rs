use drystone::{Primitives, kinds::buffer::Batch, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(buffer, max_items = 100, max_stored = 10)]
impl Cart {
    #[flush]
    async fn flush_all(&mut self, batch: Batch<u32>) -> Result<(), String> {
        drop(batch);
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
