use drystone::{Item, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Mails;
#[primitive(queue, timeout = "1s")]
impl Mails {
    #[process(max_atempts = 1, max_depth = 5, timeout = "2s", heartbeat = "2 secs", banana)]
    async fn send(&self, item: Item<String>) -> Result<(), String> {
        Err(item.value)
    }
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
fn main() {}
