use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(undo = refund)]
    async fn charge(cents: u32) -> Result<String, drystone::Failure> {
        Ok(cents.to_string())
    }
    #[step]
    async fn refund(_charge: u64) {}
    #[step(undo = release)]
    async fn grab(_seat: u32) -> bool {
        true
    }
    #[step]
    async fn release(_seat: String, _was: Option<bool>) {}
}
fn main() {}
