use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step(undo = refnd)]
    async fn charge() {}
    #[step(undo = helper)]
    async fn hold() {}
    #[step(undo = open)]
    async fn open() {}
    #[step(undo = Self::refund)]
    async fn pay() {}
    #[step]
    async fn refund(_charge: ()) {}
    async fn helper(_flow: &Flow<Self>) {}
}
fn main() {}
