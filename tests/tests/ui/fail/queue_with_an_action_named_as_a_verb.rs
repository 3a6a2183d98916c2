use drystone::{Item, Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Mails;
#[primitive(queue)]
impl Mails {
    #[process]
    async fn send(&self, item: Item<String>) -> Result<(), String> {
        Err(item.value)
    }
    async fn enqueue_many(&self) -> usize {
        0
    }
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
fn main() {}
