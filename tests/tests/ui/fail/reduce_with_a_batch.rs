use drystone::{Primitives, kinds::buffer::Batch, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn flush_all(&mut self, batch: Batch<u32>) -> Result<(), String> {
        drop(batch);
        Ok(())
    }
    #[reduce]
    fn fold(total: &mut u64, item: u32) {
        *total += u64::from(item);
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
