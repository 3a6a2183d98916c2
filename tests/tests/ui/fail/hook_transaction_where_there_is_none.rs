use drystone::{Folded, Primitives, Transaction, primitive};

#[derive(serde::Serialize, serde::Deserialize)]
struct Meter;
#[primitive(buffer)]
impl Meter {
    #[init(transaction)]
    async fn init() -> Self {
        Self
    }
    #[reduce(transaction)]
    fn fold(total: &mut u64, item: u64) {
        *total += item;
    }
    #[flush(transaction, timeout = "5m")]
    fn flush(&mut self, _: Folded<u64>, _: &mut Transaction<'_>) -> Result<(), String> {
        Ok(())
    }
    #[destroy(transaction, timeout = "1s")]
    fn end(&mut self, _: &mut Transaction<'_>) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    meter: Meter,
}
fn main() {}
