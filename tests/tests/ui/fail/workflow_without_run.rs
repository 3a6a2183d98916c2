use drystone::workflow;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    #[step]
    async fn act() {}
}
fn main() {}
