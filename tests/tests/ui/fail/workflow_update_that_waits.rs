use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    async fn set(&mut self) -> u32 {
        std::future::ready(1).await
    }
}
fn main() {}
