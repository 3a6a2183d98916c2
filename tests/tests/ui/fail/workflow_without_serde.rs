use drystone::{Flow, workflow};

#[derive(Default)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
}
fn main() {}
