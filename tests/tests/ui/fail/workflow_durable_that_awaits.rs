use drystone::{Flow, durable, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        wait(flow).await;
    }
}
#[durable]
async fn wait(_flow: &Flow<W>) -> u64 {
    tokio::task::yield_now().await;
    std::time::Instant::now().elapsed().as_secs()
}
fn main() {}
