use drystone::primitive;
use serde::{Deserialize, Serialize};

mod kinds {
    include!("../pass/outside/pause.rs");
}

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(kinds::pause, quiet = "2 sec onds")]
impl Cart {}

fn main() {}
