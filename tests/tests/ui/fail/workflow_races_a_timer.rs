use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        select! {
            _ = flow.sleep("5s") => (),
            _ = tokio::task::yield_now() => (),
        }
    }
}
fn main() {}
