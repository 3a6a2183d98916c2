use drystone::workflow;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(order: u32) -> u32 {
        order
    }
}
fn main() {}
