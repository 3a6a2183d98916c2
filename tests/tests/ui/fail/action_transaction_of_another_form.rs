use drystone::{Primitives, Transaction, primitive};

struct Mail;
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Account;
#[primitive(object)]
impl Account {
    #[action]
    async fn close(&mut self) {}
    #[action(transaction)]
    async fn book(&mut self, _: i64, _: &Mail, _: &mut Transaction<'_>) {}
    #[action(transaction, timeout = "1m", retry = "1s")]
    fn count(&self) -> Result<i64, String> {
        Ok(1)
    }
}
#[derive(Primitives)]
struct App {
    account: Account,
}
fn main() {}
