use drystone::{Client, Flow, Primitives, primitive, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Stock;
#[primitive(object)]
impl Stock {
    async fn take(&mut self) {}
}
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, stocks: &Client<Stock>) {
        flow.call(stocks.get("a").take()).await;
    }
}
#[derive(Primitives)]
struct App {
    w: W,
}
async fn start() {
    let _ = drystone::Runtime::memory().start::<App>().await;
}
fn main() {}
