use drystone::{Flow, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
struct Crm;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    fn set(&mut self, _to: u32, _crm: &Crm) {}
}
fn main() {}
