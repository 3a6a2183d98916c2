use drystone::{Client, Flow, primitive, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Stock;
#[primitive(object)]
impl Stock {
    async fn take(&mut self, count: u32) -> u32 {
        count
    }
}
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(_flow: &Flow<Self>, stocks: &Client<Stock>) {
        stocks.get("a").take(1).await;
    }
}
fn main() {}
