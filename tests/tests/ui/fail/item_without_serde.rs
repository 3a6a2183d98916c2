use drystone::{Primitives, kinds::buffer::Batch, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
struct Point;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn flush_all(&mut self, batch: Batch<Point>) -> Result<(), String> {
        drop(batch);
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
