use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        tokio::select! {
            _ = flow.sleep("5s") => (),
        }
        tokio::join!(flow.sleep("5s"));
    }
}
fn main() {}
