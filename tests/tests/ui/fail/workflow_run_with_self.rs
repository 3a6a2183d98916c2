use drystone::workflow;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(&self) -> u32 {
        1
    }
}
fn main() {}
