use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object, retry = "1m..1s")]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
