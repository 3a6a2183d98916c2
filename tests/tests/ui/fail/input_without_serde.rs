use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
struct Point;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, point: Point) {
        drop(point);
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
