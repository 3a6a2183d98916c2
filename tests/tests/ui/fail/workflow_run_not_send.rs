use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>) {
        let rc = std::rc::Rc::new(1);
        flow.sleep("5s").await;
        drop(rc);
    }
}
fn main() {}
