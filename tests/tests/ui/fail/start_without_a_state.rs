use drystone::{Primitives, primitive};

#[derive(serde::Serialize, serde::Deserialize)]
struct Token {
    access: String,
}
#[primitive(continuous, every = "59m")]
impl Token {
    #[tick]
    async fn refresh(&mut self) -> Result<(), std::fmt::Error> {
        Ok(self.access.push('!'))
    }
}
#[derive(Primitives)]
struct App {
    token: Token,
}
async fn begin(client: AppClient) {
    drop(client.token("a").start().await);
    drop(client.token("a").start_with(Token { access: String::new() }).await);
}
fn main() {}
