use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Mails;
#[primitive(queue)]
impl Mails {
    async fn count(&self) -> usize {
        0
    }
}
#[derive(Primitives)]
struct App {
    mails: Mails,
}
fn main() {}
