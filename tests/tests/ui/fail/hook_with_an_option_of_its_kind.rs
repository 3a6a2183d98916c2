use drystone::{Primitives, primitive};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Token;
#[primitive(continuous, every = "1h")]
impl Token {
    #[tick(every = "1m", banana)]
    async fn refresh(&mut self) -> Result<(), String> {
        Ok(())
    }
}
#[derive(Primitives)]
struct App {
    token: Token,
}
fn main() {}
