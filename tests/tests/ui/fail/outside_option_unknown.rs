use drystone::primitive;
use serde::{Deserialize, Serialize};

mod kinds {
    include!("../pass/outside/pause.rs");
}

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(kinds::pause, quit = "2s")]
impl Cart {}

fn main() {}
