use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.act().await.unwrap_or_default()
    }
    #[step]
    async fn act() -> anyhow::Result<u32> {
        Ok(1)
    }
}
fn main() {}
