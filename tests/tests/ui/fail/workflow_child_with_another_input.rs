use drystone::{Client, Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Child;
#[workflow]
impl Child {
    async fn run(_flow: &Flow<Self>, _number: u32) {}
}
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, children: &Client<Child>) {
        let _ = flow.child(children.get("a").execute("one")).await;
    }
}
fn main() {}
