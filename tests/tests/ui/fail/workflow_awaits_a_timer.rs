use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    }
}
fn main() {}
