use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(every = "59m")]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
