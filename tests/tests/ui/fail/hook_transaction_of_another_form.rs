use drystone::{Batch, Primitives, Transaction, primitive};

struct Mail;
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Meter;
#[primitive(buffer, timeout = "1m")]
impl Meter {
    #[flush(transaction, max_attempts = 2)]
    async fn flush(&mut self, _: Batch<u64>, _: &Mail, _: &mut Transaction<'_>) -> Result<(), String> {
        Ok(())
    }
    #[destroy(transaction)]
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    meter: Meter,
}
fn main() {}
