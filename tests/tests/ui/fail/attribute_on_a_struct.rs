use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[primitive(object)]
#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
