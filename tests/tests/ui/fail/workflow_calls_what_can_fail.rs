use drystone::{Client, Flow, primitive, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Stock;
#[primitive(object)]
impl Stock {
    async fn take(&mut self, _count: u32) -> Result<u32, String> {
        Err("none".into())
    }
}
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct W;
#[workflow]
impl W {
    async fn run(flow: &Flow<Self>, stocks: &Client<Stock>) -> u32 {
        flow.call(stocks.get("a").take(1)).await
    }
}
fn main() {}
