use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>) {}
    #[tick]
    async fn tick(&mut self) -> Result<(), drystone::Never> {
        Ok(())
    }
}
fn main() {}
