use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(retry_if = is_soft)]
    async fn act() -> Result<(), drystone::Failure> {
        Ok(())
    }
}
fn is_soft(error: u32) -> bool {
    error > 0
}
fn main() {}
