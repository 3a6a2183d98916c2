use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.act("x".into()).await;
    }
    #[step]
    async fn act(_text: &str) {}
}
fn main() {}
