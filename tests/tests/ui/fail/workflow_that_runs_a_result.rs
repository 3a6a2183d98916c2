use drystone::{Flow, workflow};

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Checkout;

#[workflow]
impl Checkout {
    async fn run(flow: &Flow<Self>) {
        let _charged: Result<u8, String> = flow.run("charge", async { Err("no money".to_owned()) }).max_attempts(3).await;
        let _plain: u8 = flow.run("count", async { 7 }).await;
    }
}

fn main() {}
