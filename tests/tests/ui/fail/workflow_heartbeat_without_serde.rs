use drystone::{Flow, Heartbeat, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
struct Page;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step]
    async fn load(_beat: &Heartbeat<Page>) {}
}
fn main() {}
