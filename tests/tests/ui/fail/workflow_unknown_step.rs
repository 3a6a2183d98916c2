use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.chrge().await;
    }
    #[step]
    async fn charge() {}
}
fn main() {}
