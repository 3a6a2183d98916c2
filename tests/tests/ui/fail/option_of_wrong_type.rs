use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object, max_attempts = "three")]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
