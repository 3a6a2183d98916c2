use drystone::primitive;
use serde::{Deserialize, Serialize};

mod kinds {
    include!("../pass/outside/pause.rs");
}

#[derive(Default, Serialize, Deserialize)]
struct Cart;

#[primitive(kinds::pause)]
impl Cart {
    async fn touch(&mut self) {}
}

fn main() {}
