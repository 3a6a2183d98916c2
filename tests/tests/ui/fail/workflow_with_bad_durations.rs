use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        flow.sleep("24 hrs").await;
        flow.run("x", async {}).timeout("5").backoff("1m..1s").await;
    }
}
fn main() {}
