use drystone::{Flow, Transaction, workflow};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(_flow: &Flow<Self>) {}

    #[action(transaction)]
    fn book(&mut self, _sql: &mut Transaction<'_>) {}
}
fn main() {}
