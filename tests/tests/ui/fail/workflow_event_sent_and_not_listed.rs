use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
}
#[derive(drystone::Event, serde::Serialize, serde::Deserialize)]
struct Shipped;
fn send(run: &WHandle) {
    drop(run.send(Shipped));
    drop(run.start_with(Shipped));
    drop(run.send_or_start(Shipped));
}
fn main() {}
