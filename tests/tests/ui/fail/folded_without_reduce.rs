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
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
