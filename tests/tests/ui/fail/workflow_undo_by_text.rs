use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(undo = "refund")]
    async fn charge() {}
    #[step(undo)]
    async fn hold() {}
    #[step]
    async fn refund(_charge: ()) {}
}
fn main() {}
