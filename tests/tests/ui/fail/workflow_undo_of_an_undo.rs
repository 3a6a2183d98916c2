use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(undo = refund)]
    async fn charge() -> u32 {
        1
    }
    #[step(undo = charge_again)]
    async fn refund(_charge: u32) {}
    #[step]
    async fn charge_again(_refund: ()) {}
}
fn main() {}
