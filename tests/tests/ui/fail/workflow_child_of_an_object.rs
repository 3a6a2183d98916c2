use drystone::{Client, Flow, primitive, workflow};
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
        let _ = flow.child(stocks.get("a").take()).await;
    }
}
fn main() {}
