use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[canceled]
    async fn clean(_flow: &Flow<Self>) {}
}
fn main() {}
