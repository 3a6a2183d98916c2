//! Every option of a queue, as a literal and as a constant; `&self` with `#[apply]`, and `&mut self`.

use std::time::Duration;

use drystone::{Context, Item, Primitives, Retry, d, primitive};
use serde::{Deserialize, Serialize};

const AT_ONCE: u64 = 8;
const SILENCE: Duration = d!("10s");
const SLOWLY: Retry = Retry::exponential(d!("1s")).capped(d!("1h")).attempts(9);

#[derive(Default, Serialize, Deserialize)]
struct Sizes {
    sum: usize,
}

#[primitive(queue, concurrency = AT_ONCE, max_attempts = 9, backoff = SLOWLY, heartbeat = SILENCE, timeout = "1m", max_depth = 10_000)]
impl Sizes {
    #[process]
    async fn measure(&self, item: Item<String>, cx: &Context) -> Result<usize, std::io::Error> {
        cx.heartbeat();
        Ok(item.value.len())
    }
    #[apply]
    fn add(&mut self, size: usize) {
        self.sum += size;
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Ledger(Vec<u64>);

#[primitive(queue, concurrency = 1, strict_order, backoff = "1s..5m", heartbeat = "10s")]
impl Ledger {
    #[process]
    async fn book(&mut self, item: Item<u64>) -> Result<(), drystone::Failure> {
        self.0.push(item.value);
        Ok(())
    }
}

#[derive(Primitives)]
struct App {
    sizes: Sizes,
    ledger: Ledger,
}

fn main() {}
