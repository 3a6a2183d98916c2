use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(max_attempts = NEVER)]
    async fn act() {}
}
const NEVER: u64 = 0;
fn main() {}
