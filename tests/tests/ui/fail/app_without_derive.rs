use drystone::{Runtime, primitive};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Cart;

#[primitive(object)]
impl Cart {}

struct App {
    _cart: Cart,
}

fn main() {
    let _ = Runtime::memory().start::<App>();
}
