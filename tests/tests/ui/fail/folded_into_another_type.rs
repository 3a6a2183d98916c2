use drystone::{Primitives, kinds::buffer::Folded, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(buffer)]
impl Cart {
    #[flush]
    async fn push(&mut self, _: Folded<String>) -> Result<(), String> {
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
