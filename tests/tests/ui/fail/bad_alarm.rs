use drystone::{Context, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(object)]
impl Cart {
    async fn put(&mut self, cx: &Context) {
        cx.alarm_in("5 mins");
    }
    #[alarm]
    async fn rang(&mut self) -> Result<(), drystone::Never> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
