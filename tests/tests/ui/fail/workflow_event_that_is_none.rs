use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow(events(Shipped))]
impl W {
    async fn run(_flow: &Flow<Self>) {}
}
struct Shipped;
fn main() {}
