use drystone::{Event, Flow, workflow};
use serde::{Deserialize, Serialize};

mod shop {
    #[derive(drystone::Event, serde::Serialize, serde::Deserialize)]
    pub(super) struct Paid;
}
#[derive(Event, Serialize, Deserialize)]
struct Paid;
#[derive(Default, Serialize, Deserialize)]
struct Order;
#[workflow(events(Paid, shop::Paid))]
impl Order {
    async fn run(_flow: &Flow<Self>) {}
}
fn main() {}
