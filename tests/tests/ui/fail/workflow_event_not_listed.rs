use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.wait_for::<Shipped>().await;
    }
}
#[derive(drystone::Event, serde::Serialize, serde::Deserialize)]
struct Shipped;
fn main() {}
