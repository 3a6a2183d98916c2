use drystone::{Flow, workflow};

#[derive(serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
}
fn main() {}
