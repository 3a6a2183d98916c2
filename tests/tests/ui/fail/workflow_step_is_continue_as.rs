use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Order;

#[workflow]
impl Order {
    async fn run(flow: &Flow<Self>) {
        flow.continue_as().await
    }
    #[step]
    async fn continue_as() {}
    #[step]
    async fn version() {}
    async fn restart(&self) -> u32 {
        7
    }
}

fn main() {}
