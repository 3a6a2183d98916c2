use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

const SLOWLY: &str = "1m";

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object, retry = SLOWLY)]
impl Cart {}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
