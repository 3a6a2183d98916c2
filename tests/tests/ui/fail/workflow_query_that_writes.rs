use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    async fn raise(self) -> u32 {
        1
    }
}
fn main() {}
