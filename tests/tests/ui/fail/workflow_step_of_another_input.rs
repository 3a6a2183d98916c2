use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.charge("7").await;
    }
    #[step]
    async fn charge(_total: u64) {}
}
fn main() {}
