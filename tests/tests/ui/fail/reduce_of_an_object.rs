use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
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
