use drystone::{Flow, join_all, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        let _ = join!(flow.sleep("1s"), tokio::task::yield_now());
        join_all([std::future::ready(1)]).await;
    }
}
fn main() {}
