use drystone::{Cron, Primitives, primitive};
use serde::{Deserialize, Serialize};

const NIGHTLY: Cron = Cron::new("0 3 * * *").zone("Europe/Berln");

#[derive(Default, Serialize, Deserialize)]
struct Cart;
#[primitive(continuous, cron = NIGHTLY)]
impl Cart {
    #[tick]
    async fn tick(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    cart: Cart,
}
fn main() {}
