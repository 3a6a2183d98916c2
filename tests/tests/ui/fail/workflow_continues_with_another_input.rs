use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Month;

#[workflow]
impl Month {
    async fn run(flow: &Flow<Self>, month: u32, total: u64) -> Result<u64, String> {
        flow.continue_as("next", total).await
    }
}

fn main() {}
