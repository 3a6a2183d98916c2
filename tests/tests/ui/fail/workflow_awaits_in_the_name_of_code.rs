use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.run(name().await, async { tokio::task::yield_now().await }).await;
    }
}
async fn name() -> &'static str { "name" }
fn main() {}
