use drystone::{Item, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Mails;
#[primitive(queue, max_depht = 10, heartbeat = "10 secs ago")]
impl Mails {
    #[process]
    async fn send(&self, item: Item<String>) -> Result<(), String> {
        Err(item.value)
    }
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
fn main() {}
