use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>) -> u64 {
        flow.charge(7).await
    }
    #[step]
    async fn charge(cents: u64) -> u64 {
        cents
    }
}

async fn again(order: OrderHandle) {
    let _ = order.restart_from(|at| at.refund(1)).await;
    let _ = order.restart_from(|at| at.charge(1).with("seven")).await;
}

fn main() {}
