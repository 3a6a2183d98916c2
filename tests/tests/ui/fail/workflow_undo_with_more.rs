use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(undo = refund)]
    async fn charge(cents: u32) -> String {
        cents.to_string()
    }
    #[step]
    async fn refund(_charge: String, _why: String) {}
}
fn main() {}
