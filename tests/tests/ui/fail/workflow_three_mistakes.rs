use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) -> u64 {
        let _ = std::time::SystemTime::now();
        flow.act("x").await
    }
    #[step(max_attempts = 0)]
    async fn act(_text: &str) {}
}
fn main() {}
