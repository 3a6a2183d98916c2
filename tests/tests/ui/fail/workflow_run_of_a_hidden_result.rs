use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) -> Answer {
        Ok(1)
    }
}
type Answer = Result<u32, drystone::Failure>;
fn main() {}
