use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) -> u64 {
        rand::random() + Uuid::new_v4()
    }
}
fn main() {}
mod rand { pub fn random() -> u64 { 4 } }
struct Uuid;
impl Uuid { fn new_v4() -> u64 { 4 } }
