use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Month;

#[workflow]
impl Month {
    async fn run(flow: &Flow<Self>, month: u32) -> Result<u64, String> {
        let total: String = flow.continue_as(month + 1).await;
        Ok(total.len() as u64)
    }
}

fn main() {}
