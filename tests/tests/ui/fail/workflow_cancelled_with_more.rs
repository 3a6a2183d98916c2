use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[cancelled]
    async fn clean(_flow: &Flow<Self>, _order: u32) -> u32 {
        1
    }
}
fn main() {}
