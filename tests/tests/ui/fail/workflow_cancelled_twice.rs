use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[cancelled]
    async fn one(_flow: &Flow<Self>) {}
    #[cancelled]
    async fn other(_flow: &Flow<Self>) {}
}
fn main() {}
