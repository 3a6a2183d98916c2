use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) -> u32 {
        flow.version("fees", 1..3)
    }
}
fn main() {}
