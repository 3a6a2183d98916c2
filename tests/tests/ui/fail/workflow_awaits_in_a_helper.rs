use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        Self::wait(flow).await;
    }
    async fn wait(_flow: &Flow<Self>) {
        tokio::task::yield_now().await;
    }
}
fn main() {}
