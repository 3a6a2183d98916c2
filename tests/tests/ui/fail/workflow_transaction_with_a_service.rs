use drystone::{Flow, Transaction, workflow};
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Sale;
#[workflow]
impl Sale {
    async fn run(flow: &Flow<Self>) -> u64 {
        flow.book(7).await
    }
    #[step(transaction)]
    fn book(cents: u64, _mail: &Mail, _sql: &mut Transaction<'_>) -> u64 {
        cents
    }
}
struct Mail;
fn main() {}
