use drystone::{Flow, Transaction, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    fn set(&mut self, _: &mut Transaction<'_>) {}
}
fn main() {}
