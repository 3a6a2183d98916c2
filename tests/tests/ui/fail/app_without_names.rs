use drystone::Primitives;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[derive(Primitives)]
struct App(Cart);
fn main() {}
