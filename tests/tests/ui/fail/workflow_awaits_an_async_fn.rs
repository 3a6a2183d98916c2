use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) -> u32 {
        fetch().await
    }
}
async fn fetch() -> u32 {
    1
}
fn main() {}
