use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, order: u32, payments: &Payments) {
        flow.act(order).await;
    }
    #[step]
    async fn act(_order: u32) {}
}
struct Payments;
fn main() {}
