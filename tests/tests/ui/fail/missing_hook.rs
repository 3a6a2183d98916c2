use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(continuous, every = "1m")]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
