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
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
async fn enqueue(client: AppClient) {
    client.mails("k").enqueue(7).await.unwrap();
}
fn main() {
    _ = enqueue;
}
