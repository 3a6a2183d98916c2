use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    fn run(_flow: &Flow<Self>) {}
}
fn main() {}
