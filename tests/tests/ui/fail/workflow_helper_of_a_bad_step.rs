use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        Self::help(flow).await;
    }
    async fn help(flow: &Flow<Self>) {
        flow.act().await;
    }
    #[step]
    async fn act(self) {}
}
fn main() {}
