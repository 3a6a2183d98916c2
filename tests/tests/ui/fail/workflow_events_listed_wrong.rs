use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow(events(Shipped, Shipped), event(Shipped), retention = 30)]
impl W {
    async fn run(_flow: &Flow<Self>) {}
}
#[derive(drystone::Event, serde::Serialize, serde::Deserialize)]
struct Shipped;
fn main() {}
