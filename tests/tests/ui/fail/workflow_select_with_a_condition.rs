use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, is_late: bool) {
        select! {
            _ = flow.sleep("5s"), if is_late => (),
        }
    }
}
fn main() {}
