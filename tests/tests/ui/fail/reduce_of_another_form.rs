use drystone::{Primitives, kinds::buffer::Folded, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn push(&mut self, _: Folded<u64>) -> Result<(), String> {
        Ok(())
    }
    #[reduce]
    fn fold(total: u64, item: u32) -> u64 {
        total + u64::from(item)
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
