use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

const NONE: u64 = 0;

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object, max_attempts = NONE)]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
