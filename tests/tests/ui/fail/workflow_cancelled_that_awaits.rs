use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("1s").await;
    }
    #[cancelled]
    async fn stop(_flow: &Flow<Self>) {
        tokio::task::yield_now().await;
        tokio::spawn(async {});
    }
}
fn main() {}
