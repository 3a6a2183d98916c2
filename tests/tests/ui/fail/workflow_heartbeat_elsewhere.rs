use drystone::{Flow, Heartbeat, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(heartbeat = "often")]
    async fn load(_beat: Heartbeat<u32>) {}
    async fn page(&self, _beat: &Heartbeat<u32>) -> u32 {
        1
    }
}
fn main() {}
