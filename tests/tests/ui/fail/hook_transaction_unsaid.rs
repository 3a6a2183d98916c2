use drystone::{Batch, Primitives, Transaction, primitive};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Meter;
#[primitive(buffer)]
impl Meter {
    #[flush(max_attempts = 2)]
    async fn flush(&mut self, _: Batch<u64>, _: &mut Transaction<'_>) -> Result<(), String> {
        Ok(())
    }
    async fn clear_all(&mut self, _: &mut Transaction<'_>) {}
}
#[derive(Primitives)]
struct App {
    meter: Meter,
}
fn main() {}
