use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[step]
    async fn sleep(_span: u64) {}
    #[step]
    async fn into() {}
    #[step]
    async fn within(_span: u64) {}
}
fn main() {}
