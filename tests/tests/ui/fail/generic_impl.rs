use drystone::primitive;
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Cart<T>(T);
#[primitive(object)]
impl<T> Cart<T> {
    async fn put(&mut self) {}
}
fn main() {}
