use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        let later = async {
            tokio::task::yield_now().await;
            flow.sleep("1s").await;
        };
        later.await;
    }
}
fn main() {}
