use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Mails;
#[primitive(queue)]
impl Mails {
    #[process]
    async fn send(&self, item: Vec<String>) -> Result<(), String> {
        Err(item.concat())
    }
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
fn main() {}
