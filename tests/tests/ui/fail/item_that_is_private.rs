use drystone::{kinds::buffer::Batch, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
pub struct Cart;
#[derive(Serialize, Deserialize)]
struct Item;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn flush_all(&mut self, batch: Batch<Item>) -> Result<(), String> {
        drop(batch);
        Ok(())
    }
}
fn main() {}
