use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) -> Result<u32, std::io::Error> {
        Ok(1)
    }
}
fn main() {}
