use drystone::{Flow, Transaction, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Sale;
#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>) -> u64 {
        flow.book(7).await
    }
    #[step(transaction)]
    fn book(_sql: &mut Transaction<'_>, cents: u64, _other: &mut Transaction<'_>) -> u64 {
        cents
    }
}
fn main() {}
