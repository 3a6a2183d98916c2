use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Order;
#[workflow]
impl Order {
    async fn run(_flow: &Flow<Self>, _cents: u64) {}
}
async fn again(order: OrderHandle) {
    let _ = order.restart_with("seven").await;
}
fn main() {}
