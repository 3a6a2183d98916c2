use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, _twice: &Flow<Self>) {
        Self::help(flow).await;
    }
    async fn help(_flow: &Flow<Self>) {}
}
fn main() {}
